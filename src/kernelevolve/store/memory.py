"""A store that forgets everything at the end: for tests and for trying the loop."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelevolve.errors import UsageError
from kernelevolve.model.events import Event, Judged, Opened, Proposed
from kernelevolve.store.base import CampaignRow, NodeRow
from kernelevolve.store.rules import (
    RandomBytes,
    closed_campaign,
    new_campaign_id,
    node_judged,
    node_of,
    pick_campaign,
    repeated_event,
    slot_of,
    step_needed,
    unknown_campaign,
    unproposed_step,
)


@dataclass(kw_only=True)
class _Log:
    opened: Opened
    secret: str
    events: list[Event] = field(default_factory=list)
    slots: set[tuple[str, int]] = field(default_factory=set)
    nodes: dict[int, NodeRow] = field(default_factory=dict)

    @property
    def closed(self) -> bool:
        return ("closed", 0) in self.slots


class MemoryStore:
    """One process only; safe between threads. `folder` is ignored."""

    def __init__(self, folder: Path | None = None, *, random_bytes: RandomBytes = os.urandom) -> None:
        self._random_bytes = random_bytes
        self._logs: dict[str, _Log] = {}
        self._blobs: dict[str, bytes] = {}
        self._lock = threading.RLock()

    def open_campaign(self, opened: Opened) -> str:
        with self._lock:
            campaign_id = new_campaign_id(opened, self._random_bytes, self._logs.__contains__)
            self._logs[campaign_id] = _Log(opened=opened, secret=self._random_bytes(32).hex())
            self.append(campaign_id, [opened])
        return campaign_id

    def append(self, campaign_id: str, events: Sequence[Event]) -> None:
        with self._lock:
            log = self._log(campaign_id)
            slots, steps = set(log.slots), set(log.nodes)
            for event in events:
                if ("closed", 0) in slots:
                    raise closed_campaign(campaign_id)
                if (event.kind, slot_of(event)) in slots:
                    raise repeated_event(campaign_id, event)
                step = step_needed(event)
                if step is not None and step not in steps:
                    raise unproposed_step(campaign_id, event, step)
                slots.add((event.kind, slot_of(event)))
                if isinstance(event, Proposed):
                    steps.add(event.step)
            log.events.extend(events)
            log.slots = slots
            for event in events:
                if isinstance(event, Proposed):
                    log.nodes[event.step] = node_of(event)
                elif isinstance(event, Judged):
                    log.nodes[event.step] = node_judged(log.nodes[event.step], event)

    def read(self, campaign_id: str, start: int = 0) -> list[Event]:
        with self._lock:
            return self._log(campaign_id).events[start:]

    def nodes(
        self, campaign_id: str, *, best_first: bool = False, start: int = 0, limit: int | None = None
    ) -> list[NodeRow]:
        with self._lock:
            rows = sorted(self._log(campaign_id).nodes.values(), key=lambda row: row.step)
        if best_first:
            measured = [row for row in rows if row.low is not None and row.same_as is None]
            rows = sorted(measured, key=lambda row: -(row.low or 0.0))
        return rows[start:] if limit is None else rows[start : start + limit]

    def campaigns(self) -> list[CampaignRow]:
        with self._lock:
            return [
                CampaignRow(
                    id=campaign_id,
                    task_name=log.opened.task.name,
                    created=log.opened.time,
                    n_events=len(log.events),
                    closed=log.closed,
                )
                for campaign_id, log in self._logs.items()
            ]

    def resolve(self, prefix: str) -> str:
        return pick_campaign(prefix, self.campaigns())

    def secret(self, campaign_id: str) -> str:
        return self._log(campaign_id).secret

    def put_blob(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        self._blobs[name] = data
        return name

    def get_blob(self, sha256: str) -> bytes:
        if sha256 not in self._blobs:
            raise UsageError(f"no blob {sha256}")
        return self._blobs[sha256]

    def _log(self, campaign_id: str) -> _Log:
        if campaign_id not in self._logs:
            raise unknown_campaign(campaign_id)
        return self._logs[campaign_id]
