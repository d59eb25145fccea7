"""What every store enforces and derives, written once: the place of an event, names, and node rows."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from kernelevolve.errors import ClaimError, RecordError, UnknownNameError, UsageError
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


def new_campaign_id(opened: Opened, random_bytes: RandomBytes, taken: Callable[[str], bool], *, name: str = "") -> str:
    """`name`: what it begins with instead of the task's name."""
    while True:
        digest = hashlib.sha256(opened.time.encode() + random_bytes(16)).hexdigest()
        campaign_id = f"{name or opened.task.name}-{digest[:6]}"
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


_CAMPAIGN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
"""Ids become names of folders, so one from elsewhere must not climb out of its place."""


def check_campaign_id(campaign_id: str) -> None:
    if not _CAMPAIGN_ID.fullmatch(campaign_id):
        raise UsageError(f"{campaign_id[:80]!r} is no campaign id: letters, digits, '_', '-' and '.' only")


def first_event(event: Event | None) -> Opened:
    if not isinstance(event, Opened):
        raise RecordError(f"a campaign begins with 'opened', this one with {event.kind if event else 'nothing'!r}")
    return event


def campaign_facts(opened: Opened) -> dict[str, str]:
    """What a campaign is found by."""
    task = opened.task
    facts = {
        "task_id": task.content_id, "family": task.family, "dtype": task.dtype, "platform": opened.facts.name,
    }  # fmt: skip
    return {name: plain_text(value) for name, value in facts.items()}


def plain_text(value: str) -> str:
    """Without the one character that PostgreSQL cannot hold. Events keep it: JSON escapes it."""
    return value.replace("\0", "")


def as_of_row(row: NodeRow, as_of: int) -> NodeRow:
    """The row at an earlier moment, at which it existed."""
    if row.judged_at is None or row.judged_at < as_of:
        return row
    unknown = dict.fromkeys(("outcome", "same_as", "speedup", "low", "high", "score", "judged_at"))
    return replace(row, **unknown)  # type: ignore[arg-type]


def node_of(event: Proposed, seq: int) -> NodeRow:
    return NodeRow(
        step=event.step,
        candidate_id=event.candidate.id,
        operator=event.move.operator.value,
        parents=event.move.parents,
        language=plain_text(event.candidate.language),
        recipe=plain_text(event.candidate.origin.recipe),
        ask=event.ask,
        born=seq,
    )


def node_judged(row: NodeRow, event: Judged, seq: int) -> NodeRow:
    timing = event.verdict.timing
    usable = timing is not None and timing.low > 0 and event.same_as is None
    return replace(
        row,
        judged_at=seq,
        score=math.log(timing.low) if timing and usable else None,
        outcome=event.verdict.outcome,
        same_as=event.same_as,
        speedup=timing.speedup if timing else None,
        low=timing.low if timing else None,
        high=timing.high if timing else None,
    )


def unknown_campaign(campaign_id: str) -> UsageError:
    return UsageError(f"no campaign '{campaign_id}' in this store")


def unknown_step(campaign_id: str, step: int) -> UsageError:
    return UsageError(f"campaign {campaign_id} has no step {step}")


def claimed_campaign(campaign_id: str, owner: str, left_s: float) -> ClaimError:
    return ClaimError(
        f"campaign {campaign_id} is being run by {owner} (its claim lasts {max(left_s, 0.0):.0f} s more): "
        f"wait for it to end, or stop that process and try again when the claim is over"
    )


def lost_claim(campaign_id: str, token: int, owner: str) -> ClaimError:
    return ClaimError(
        f"campaign {campaign_id} was taken over by {owner or 'another process'} (claim {token} is an old one): nothing "
        f"was stored; this process must stop, the other one goes on"
    )


def closed_campaign(campaign_id: str) -> UsageError:
    return UsageError(f"campaign {campaign_id} is closed: nothing can be added to it")


def repeated_event(campaign_id: str, event: Event) -> UsageError:
    where = f"step {event.step} of campaign {campaign_id}" if hasattr(event, "step") else f"campaign {campaign_id}"
    return UsageError(f"{where} was already {event.kind}; is another process running the same campaign?")


def unproposed_step(campaign_id: str, event: Event, step: int) -> UsageError:
    return UsageError(f"campaign {campaign_id}: step {step} cannot be {event.kind}, it was never proposed")
