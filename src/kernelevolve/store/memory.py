"""A store that forgets everything at the end: for tests and for trying the loop."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelevolve.errors import UsageError
from kernelevolve.model.events import Closed, Event, Judged, Opened, Proposed
from kernelevolve.store.base import CampaignRow, Change, Children, NodeRow
from kernelevolve.store.rules import (
    RandomBytes,
    as_of_row,
    campaign_facts,
    check_campaign_id,
    claimed_campaign,
    closed_campaign,
    first_event,
    lost_claim,
    new_campaign_id,
    node_judged,
    node_of,
    pick_campaign,
    repeated_event,
    slot_of,
    step_needed,
    unknown_campaign,
    unknown_step,
    unproposed_step,
)


@dataclass(kw_only=True)
class _Log:
    opened: Opened
    secret: str
    facts: dict[str, str]
    events: list[Event] = field(default_factory=list)
    slots: set[tuple[str, int]] = field(default_factory=set)
    nodes: dict[int, NodeRow] = field(default_factory=dict)
    owner: str = ""
    token: int = 0
    expires_s: float = 0.0

    @property
    def closed(self) -> bool:
        return ("closed", 0) in self.slots

    @property
    def winner(self) -> int | None:
        last = self.events[-1] if self.events else None
        return last.winner if isinstance(last, Closed) else None


class MemoryStore:
    """One process only; safe between threads. `folder` is ignored. `clock` is in seconds, for claims only."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        random_bytes: RandomBytes = os.urandom,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._random_bytes = random_bytes
        self._clock = clock
        self._logs: dict[str, _Log] = {}
        self._blobs: dict[str, bytes] = {}
        self._lock = threading.RLock()

    def open_campaign(self, opened: Opened) -> str:
        with self._lock:
            return self._start(opened, new_campaign_id(opened, self._random_bytes, self._logs.__contains__), [opened])

    def adopt(self, campaign_id: str, events: Iterable[Event]) -> str:
        check_campaign_id(campaign_id)
        kept = list(events)
        opened = first_event(kept[0] if kept else None)
        with self._lock:
            if campaign_id in self._logs:
                taken = self._logs.__contains__
                campaign_id = new_campaign_id(opened, self._random_bytes, taken, name=campaign_id[:100])
            return self._start(opened, campaign_id, kept)

    def append(self, campaign_id: str, events: Sequence[Event], *, token: int | None = None) -> None:
        with self._lock:
            log = self._log(campaign_id)
            if token is not None and token != log.token:
                raise lost_claim(campaign_id, token, log.owner)
            self._append(campaign_id, log, events)

    def claim(self, campaign_id: str, owner: str, *, lease_s: float = 60.0) -> int:
        with self._lock:
            log, now = self._log(campaign_id), self._clock()
            if log.owner != owner and log.expires_s > now:
                raise claimed_campaign(campaign_id, log.owner, log.expires_s - now)
            if log.owner != owner or log.expires_s <= now:
                log.token += 1
            log.owner, log.expires_s = owner, now + lease_s
            return log.token

    def release(self, campaign_id: str, token: int) -> None:
        with self._lock:
            log = self._log(campaign_id)
            if log.token == token:
                log.expires_s = 0.0

    def read(self, campaign_id: str, start: int = 0, stop: int | None = None) -> list[Event]:
        with self._lock:
            return self._log(campaign_id).events[start:stop]

    def events_of(self, campaign_id: str, step: int) -> list[Event]:
        with self._lock:
            return [
                event
                for event in self._log(campaign_id).events
                if (event.step if isinstance(event, Proposed) else step_needed(event)) == step
            ]

    def changes(self, campaign_id: str, start: int = 0, *, limit: int | None = None) -> list[Change]:
        with self._lock:
            events = self._log(campaign_id).events[start : None if limit is None else start + limit]
        return [Change(seq=seq, kind=event.kind, slot=slot_of(event)) for seq, event in enumerate(events, start)]

    def nodes(
        self,
        campaign_id: str,
        *,
        best_first: bool = False,
        start: int = 0,
        limit: int | None = None,
        as_of: int | None = None,
    ) -> list[NodeRow]:
        with self._lock:
            rows = sorted(self._log(campaign_id).nodes.values(), key=lambda row: row.step)
        if as_of is not None:
            rows = [as_of_row(row, as_of) for row in rows if row.born < as_of]
        if best_first:
            rows = sorted((row for row in rows if row.score is not None), key=_best_first)
        return rows[start:] if limit is None else rows[start : start + limit]

    def lineage(self, campaign_id: str, step: int) -> list[NodeRow]:
        with self._lock:
            nodes = self._log(campaign_id).nodes
            if step not in nodes:
                raise unknown_step(campaign_id, step)
            line = [nodes[step]]
            while 0 < line[-1].parent < line[-1].step and line[-1].parent in nodes:
                line.append(nodes[line[-1].parent])
        return line[::-1]

    def children(self, campaign_id: str, steps: Sequence[int], *, limit: int) -> Mapping[int, Children]:
        with self._lock:
            rows = sorted(self._log(campaign_id).nodes.values(), key=_best_first)
        of = {step: [row for row in rows if row.parent == step] for step in steps}
        return {step: Children(rows=tuple(found[:limit]), n_total=len(found)) for step, found in of.items()}

    def campaigns(self) -> list[CampaignRow]:
        with self._lock:
            return [
                CampaignRow(
                    id=campaign_id, task_name=log.opened.task.name, created=log.opened.time,
                    n_events=len(log.events), closed=log.closed, winner=log.winner, **log.facts,
                )
                for campaign_id, log in self._logs.items()
            ]  # fmt: skip

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

    def _start(self, opened: Opened, campaign_id: str, events: Sequence[Event]) -> str:
        log = _Log(opened=opened, secret=self._random_bytes(32).hex(), facts=campaign_facts(opened))
        self._append(campaign_id, log, events)
        self._logs[campaign_id] = log
        return campaign_id

    @staticmethod
    def _append(campaign_id: str, log: _Log, events: Sequence[Event]) -> None:
        slots, nodes, closed = set(log.slots), {}, log.closed
        for seq, event in enumerate(events, len(log.events)):
            if closed:
                raise closed_campaign(campaign_id)
            if (event.kind, slot_of(event)) in slots:
                raise repeated_event(campaign_id, event)
            step = step_needed(event)
            if step is not None and step not in nodes and step not in log.nodes:
                raise unproposed_step(campaign_id, event, step)
            slots.add((event.kind, slot_of(event)))
            closed = isinstance(event, Closed)
            if isinstance(event, Proposed):
                nodes[event.step] = node_of(event, seq)
            elif isinstance(event, Judged):
                nodes[event.step] = node_judged(nodes.get(event.step) or log.nodes[event.step], event, seq)
        log.events.extend(events)
        log.slots = slots
        log.nodes |= nodes

    def _log(self, campaign_id: str) -> _Log:
        if campaign_id not in self._logs:
            raise unknown_campaign(campaign_id)
        return self._logs[campaign_id]


def _best_first(row: NodeRow) -> tuple[bool, float, int]:
    return (row.score is None, -(row.score or 0.0), row.step)
