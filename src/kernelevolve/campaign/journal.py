"""The one way an event enters a campaign: into the store first, then the tree, then to the listeners."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kernelevolve.campaign.budget import Clock, Stopwatch
from kernelevolve.campaign.listeners import Listener
from kernelevolve.errors import KernelEvolveError, MachineError, RecordError
from kernelevolve.model.events import Event, Opened, Sealed, Settings
from kernelevolve.search.tree import Tree
from kernelevolve.store.base import Store

ALPHA = 0.05
SMALLEST_ALPHA = 1e-3
"""Beyond this an interval from a few dozen pairs is their whole range."""


class Journal:
    """Holds the tree of a campaign and keeps it equal to the store. Several threads may record; who reads the tree and
    decides by what it finds holds `lock` meanwhile."""

    def __init__(self, *, store: Store, campaign_id: str, listeners: Sequence[Listener], clock: Clock) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._listeners = tuple(listeners)
        self._shut = ""
        self.lock = threading.RLock()
        self.tree = Tree(store.read(campaign_id))
        self.stopwatch = Stopwatch(used_s=self.tree.elapsed_s, clock=clock)

    @property
    def opened(self) -> Opened:
        if self.tree.opened is None:
            raise RecordError(f"campaign {self._campaign_id} has no first event")
        return self.tree.opened

    @property
    def settings(self) -> Settings:
        return self.opened.settings

    @property
    def elapsed_s(self) -> float:
        return self.stopwatch.elapsed_s

    @property
    def secret(self) -> str:
        return self._store.secret(self._campaign_id)

    def sealed_alpha(self) -> float:
        """The ledger: each use of a task's sealed shapes within a store halves what the next claim may risk, so that
        all of them together stay below 2 `ALPHA`. Who tries until chance helps meets wider and wider intervals."""
        task_id = self.opened.task.content_id
        used: int = 0
        for row in self._store.campaigns():
            if row.id == self._campaign_id or row.task_name != self.opened.task.name:
                continue
            events = self._store.read(row.id)
            same = isinstance(events[0], Opened) and events[0].task.content_id == task_id
            used += same and any(isinstance(event, Sealed) for event in events)
        return max(ALPHA * 0.5**used, SMALLEST_ALPHA)

    @property
    def shut(self) -> bool:
        return bool(self._shut)

    def shut_down(self, why: str) -> None:
        """Nothing is recorded any more: what a thread left behind brings afterwards comes too late."""
        with self.lock:
            self._shut = self._shut or why

    def as_of(self, seq: int) -> Tree:
        """The tree as it was when the campaign had `seq` events."""
        return Tree(self._store.read(self._campaign_id)[:seq])

    def record(self, *events: Event) -> None:
        """All of `events` or none. After a failure of the store, which may have come before or after the events were
        kept, nothing more is recorded: only a new reading of the store tells where the campaign stands. Raises
        MachineError once the journal is shut."""
        with self.lock:
            if self._shut:
                raise MachineError(f"nothing can be recorded any more: {self._shut}")
            try:
                self._store.append(self._campaign_id, events)
            except KernelEvolveError as error:
                self._shut = f"the store failed: {error}"
                raise
            for event in events:
                self.tree.append(event)
                for listener in self._listeners:
                    listener.on_event(event)

    def say(self, text: str) -> None:
        with self.lock:
            for listener in self._listeners:
                listener.on_status(text)
