"""What every store enforces and derives, written once: the place of an event, names, and node rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from kernelevolve.errors import UnknownNameError, UsageError
from kernelevolve.model.events import (
    Answered,
    Asked,
    Closed,
    Confirmed,
    Diagnosed,
    Event,
    Insight,
    Judged,
    Opened,
    Proposed,
    Reserved,
    Sealed,
    Settled,
)
from kernelevolve.store.base import CampaignRow, NodeRow

RandomBytes = Callable[[int], bytes]


def slot_of(event: Event) -> int:
    """At most one event per (kind, slot). Sealed shapes are used once and a campaign ends once: both have slot 0."""
    if isinstance(event, Opened | Sealed | Closed):
        return 0
    if isinstance(event, Asked | Answered):
        return event.ask
    if isinstance(event, Reserved | Settled):
        return event.call
    return event.number if isinstance(event, Insight) else event.step


def step_needed(event: Event) -> int | None:
    """The step that must have been proposed before this event makes sense."""
    return event.step if isinstance(event, Judged | Diagnosed | Confirmed | Sealed) else None


def new_campaign_id(opened: Opened, random_bytes: RandomBytes, taken: Callable[[str], bool]) -> str:
    while True:
        digest = hashlib.sha256(opened.time.encode() + random_bytes(16)).hexdigest()
        campaign_id = f"{opened.task.name}-{digest[:6]}"
        if not taken(campaign_id):
            return campaign_id


def pick_campaign(prefix: str, rows: Sequence[CampaignRow]) -> str:
    ids = [row.id for row in rows]
    if not ids:
        raise UsageError("the store holds no campaign yet")
    if prefix == "latest":
        return ids[-1]
    found = [campaign_id for campaign_id in ids if campaign_id.startswith(prefix)] if prefix else []
    if prefix in ids:
        return prefix
    if len(found) > 1:
        raise UsageError(f"'{prefix}' fits several campaigns: {', '.join(found)}")
    if not found:
        raise UnknownNameError("campaign", prefix, ids)
    return found[0]


def node_of(event: Proposed) -> NodeRow:
    return NodeRow(
        step=event.step,
        candidate_id=event.candidate.id,
        operator=event.move.operator.value,
        parents=event.move.parents,
    )


def node_judged(row: NodeRow, event: Judged) -> NodeRow:
    timing = event.verdict.timing
    return replace(
        row,
        outcome=event.verdict.outcome,
        same_as=event.same_as,
        speedup=timing.speedup if timing else None,
        low=timing.low if timing else None,
        high=timing.high if timing else None,
    )


def unknown_campaign(campaign_id: str) -> UsageError:
    return UsageError(f"no campaign '{campaign_id}' in this store")


def closed_campaign(campaign_id: str) -> UsageError:
    return UsageError(f"campaign {campaign_id} is closed: nothing can be added to it")


def repeated_event(campaign_id: str, event: Event) -> UsageError:
    where = f"step {event.step} of campaign {campaign_id}" if hasattr(event, "step") else f"campaign {campaign_id}"
    return UsageError(f"{where} was already {event.kind}; is another process running the same campaign?")


def unproposed_step(campaign_id: str, event: Event, step: int) -> UsageError:
    return UsageError(f"campaign {campaign_id}: step {step} cannot be {event.kind}, it was never proposed")
