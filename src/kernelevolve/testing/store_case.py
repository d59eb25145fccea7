"""What every store must do. Subclass `StoreCase`, write `make_store`, and pytest runs the rest."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from kernelevolve.errors import RecordError, UsageError
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Closed, Confirmed, Diagnosed, Event, Sealed
from kernelevolve.model.verdict import Outcome
from kernelevolve.store.base import Store
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
    sample_verdict,
)

_FORK = multiprocessing.get_context("fork")


def whole_campaign() -> list[Event]:
    """One event of each kind but `opened`."""
    verdict = sample_verdict(sample_candidate(1))
    return [
        sample_proposed(1),
        sample_proposed(2, move=Move(operator=Operator.MUTATE, parents=(1,), reason='é "quoted" \n line')),
        sample_judged(1, speedup=2.0),
        Diagnosed(step=1, diagnosis=Diagnosis(bottleneck=Bottleneck.MEMORY)),
        sample_judged(2, outcome=Outcome.WRONG),
        Confirmed(step=1, verdict=verdict, elapsed_s=3.0),
        Sealed(step=1, verdict=verdict, elapsed_s=4.0),
        Closed(winner=1, reason="done", elapsed_s=5.0),
    ]


class StoreCase(ABC):
    shared = True
    """Whether two stores made on one folder, in two processes, see the same campaigns."""

    @abstractmethod
    def make_store(self, folder: Path) -> Store: ...

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return self.make_store(tmp_path)

    def test_reads_back_exactly_what_was_appended(self, store: Store) -> None:
        opened, events = sample_opened(), whole_campaign()
        campaign = store.open_campaign(opened)
        for event in events:
            store.append(campaign, [event])
        found = store.read(campaign)
        assert found == [opened, *events]
        assert [event.to_json() for event in found] == [event.to_json() for event in (opened, *events)]
        assert store.read(campaign, 7) == events[6:]
        assert store.read(campaign, 100) == []

    def test_campaigns_do_not_mix(self, store: Store) -> None:
        first = store.open_campaign(sample_opened(name="one"))
        second = store.open_campaign(sample_opened(name="two"))
        store.append(second, [sample_proposed(1)])
        assert first.startswith("one-")
        assert [(row.id, row.task_name, row.n_events, row.closed) for row in store.campaigns()] == [
            (first, "one", 1, False), (second, "two", 2, False),
        ]  # fmt: skip
        assert store.secret(first) != store.secret(second)
        assert store.secret(first) == store.secret(first)

    def test_an_append_is_all_or_nothing(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        store.append(campaign, [sample_proposed(1)])
        with pytest.raises(UsageError):
            store.append(campaign, [sample_proposed(2), sample_judged(1), sample_judged(1)])
        assert len(store.read(campaign)) == 2
        assert [row.outcome for row in store.nodes(campaign)] == [None]
        store.append(campaign, [sample_proposed(2), sample_judged(1)])
        assert len(store.read(campaign)) == 4

    def test_nothing_is_recorded_twice(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        events = whole_campaign()[:-1]
        store.append(campaign, events)
        again: list[Event] = [*events, sample_opened(), Sealed(step=2, verdict=events[2].verdict, elapsed_s=9.0)]  # type: ignore[union-attr]
        for event in again:
            with pytest.raises(UsageError, match=event.kind):
                store.append(campaign, [event])
        assert store.read(campaign)[1:] == events

    def test_only_what_was_proposed_is_judged(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        with pytest.raises(UsageError, match="step 3"):
            store.append(campaign, [sample_judged(3)])
        with pytest.raises(UsageError, match="nowhere"):
            store.append("nowhere", [sample_proposed(1)])

    def test_a_closed_campaign_stays_closed(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        store.append(campaign, whole_campaign())
        assert store.campaigns()[0].closed
        with pytest.raises(UsageError, match="closed"):
            store.append(campaign, [sample_proposed(3)])

    def test_offers_no_way_to_change_the_past(self, store: Store) -> None:
        verbs = [name for name in dir(store) if not name.startswith("_")]
        assert not [name for name in verbs if any(word in name for word in ("delete", "update", "remove", "clear"))]

    def test_node_rows_follow_the_events(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        cross = Move(operator=Operator.CROSS, parents=(1, 2))
        store.append(campaign, [sample_proposed(n, move=cross if n == 3 else None) for n in (1, 2, 3, 4)])
        store.append(campaign, [sample_judged(1, speedup=2.0), sample_judged(2, outcome=Outcome.CRASHED)])
        store.append(campaign, [sample_judged(3, speedup=3.0), sample_judged(4, speedup=3.0, same_as=3)])
        rows = store.nodes(campaign)
        assert [row.step for row in rows] == [1, 2, 3, 4]
        assert (rows[2].parents, rows[2].operator) == ((1, 2), "cross")
        assert (rows[1].outcome, rows[1].speedup, rows[1].low) == (Outcome.CRASHED, None, None)
        assert (rows[2].speedup, rows[2].candidate_id, rows[3].same_as) == (3.0, sample_candidate(3).id, 3)
        assert [row.step for row in store.nodes(campaign, best_first=True)] == [3, 1]
        assert [row.step for row in store.nodes(campaign, start=1, limit=2)] == [2, 3]

    def test_finds_a_campaign_by_the_start_of_its_id(self, store: Store) -> None:
        with pytest.raises(UsageError):
            store.resolve("latest")
        one = store.open_campaign(sample_opened(name="one"))
        other = store.open_campaign(sample_opened(name="other"))
        assert store.resolve("latest") == other
        assert store.resolve("on") == store.resolve(one) == one
        with pytest.raises(UsageError, match="several"):
            store.resolve("o")
        for unknown in ("x", ""):
            with pytest.raises(UsageError, match="unknown"):
                store.resolve(unknown)

    def test_blobs_are_found_by_their_content(self, store: Store) -> None:
        name = store.put_blob(b"\x00\xff")
        assert store.put_blob(b"\x00\xff") == name
        assert store.get_blob(name) == b"\x00\xff"
        with pytest.raises((UsageError, RecordError)):
            store.get_blob("0" * 64)

    def test_many_processes_write_at_once(self, tmp_path: Path) -> None:
        self._needs_sharing()
        gate = _FORK.Event()
        workers = [_FORK.Process(target=self._write, args=(tmp_path, gate, 200)) for _ in range(8)]
        for worker in workers:
            worker.start()
        gate.set()
        for worker in workers:
            worker.join(60)
        assert [worker.exitcode for worker in workers] == [0] * 8
        store = self.make_store(tmp_path)
        rows = store.campaigns()
        assert [row.n_events for row in rows] == [201] * 8
        assert len({row.id for row in rows}) == 8
        assert [len(store.read(row.id)) for row in rows] == [201] * 8

    @pytest.mark.parametrize("seed", range(4))
    def test_kill_during_writes_loses_nothing_that_was_appended(self, tmp_path: Path, seed: int) -> None:
        self._needs_sharing()
        receiver, sender = _FORK.Pipe(duplex=False)
        worker = _FORK.Process(target=self._write_forever, args=(tmp_path, sender))
        worker.start()
        sender.close()
        campaign = receiver.recv()
        time.sleep(random.Random(seed).uniform(0.01, 0.15))
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        acknowledged = 0
        try:
            while True:
                acknowledged = receiver.recv()
        except EOFError:
            receiver.close()
        store = self.make_store(tmp_path)
        found = store.read(campaign)[1:]
        assert acknowledged <= len(found) <= acknowledged + 2
        assert found == [
            event for n in range(1, len(found) // 2 + 1) for event in (sample_proposed(n), sample_judged(n))
        ]
        store.append(campaign, [sample_proposed(len(found) // 2 + 1)])
        assert len(store.read(campaign)) == len(found) + 2

    def _needs_sharing(self) -> None:
        if not self.shared:
            pytest.skip("this store lives in one process")

    def _write(self, folder: Path, gate: object, n_events: int) -> None:
        gate.wait()  # type: ignore[attr-defined]
        store = self.make_store(folder)
        campaign = store.open_campaign(sample_opened())
        for step in range(1, n_events // 2 + 1):
            store.append(campaign, [sample_proposed(step, candidate=sample_candidate(0))])
            store.append(campaign, [sample_judged(step)])

    def _write_forever(self, folder: Path, sender: Connection) -> None:
        store = self.make_store(folder)
        campaign = store.open_campaign(sample_opened())
        sender.send(campaign)
        for step in range(1, 10**6):
            pair: Sequence[Event] = [sample_proposed(step), sample_judged(step)]
            store.append(campaign, pair)
            sender.send(2 * step)
