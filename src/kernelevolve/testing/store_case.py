"""What every store must do. Subclass `StoreCase`, write `make_store`, and pytest runs the rest."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from kernelevolve.errors import ClaimError, RecordError, UsageError
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Event, Sealed
from kernelevolve.model.verdict import Outcome
from kernelevolve.store.base import Store
from kernelevolve.testing.campaign_samples import small_tree, whole_campaign
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
)

Clock = Callable[[], float]

_FORK = multiprocessing.get_context("fork")


class StoreCase(ABC):
    shared = True
    """Whether two stores made on one folder, in two processes, see the same campaigns."""

    @abstractmethod
    def make_store(self, folder: Path, clock: Clock | None = None) -> Store:
        """`clock`, in seconds, says when a claim is over; without it the store's usual one."""

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

    def test_node_rows_say_what_lists_show_and_searches_rank_by(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        store.append(campaign, [sample_proposed(1).model_copy(update={"ask": 7}), sample_judged(1, speedup=2.0)])
        (row,) = store.nodes(campaign)
        assert (row.language, row.recipe, row.ask, row.born, row.judged_at) == ("fake", "sample", 7, 1, 2)
        assert row.score == math.log(row.low or 0.0)
        store.append(campaign, [sample_proposed(2), sample_judged(2, speedup=2.0, same_as=1)])
        assert store.nodes(campaign)[1].score is None

    def test_reads_any_part_of_the_log(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        events = whole_campaign()
        store.append(campaign, events)
        assert store.read(campaign, 3, 5) == events[2:4]
        log = store.changes(campaign)
        assert [(change.seq, change.kind) for change in log] == list(
            enumerate(["opened", *(event.kind for event in events)])
        )
        assert [change.slot for change in log] == [0, 1, 2, 1, 1, 2, 1, 0, 0]
        assert store.changes(campaign, 2, limit=3) == log[2:5]
        assert store.changes(campaign, 99) == []

    def test_tells_everything_about_one_step(self, store: Store) -> None:
        campaign = store.open_campaign(sample_opened())
        events = whole_campaign()
        store.append(campaign, events)
        assert store.events_of(campaign, 1) == [event for event in events[:-1] if getattr(event, "step", 0) == 1]
        assert store.events_of(campaign, 2) == [events[1], events[4]]
        assert store.events_of(campaign, 3) == []

    def test_nodes_at_any_earlier_moment(self, store: Store) -> None:
        """Rows as of every moment are what a store shows that got only the events before it."""
        events = [sample_opened(), *small_tree()]
        campaign = store.open_campaign(events[0])  # type: ignore[arg-type]
        store.append(campaign, events[1:])
        for moment in range(1, len(events) + 1):
            other = store.open_campaign(events[0])  # type: ignore[arg-type]
            store.append(other, events[1:moment])
            assert store.nodes(campaign, as_of=moment) == store.nodes(other)
            assert store.nodes(campaign, best_first=True, as_of=moment) == store.nodes(other, best_first=True)
            assert store.nodes(campaign, start=1, limit=2, as_of=moment) == store.nodes(other, start=1, limit=2)

    def test_lineage_and_children(self, store: Store) -> None:
        other = store.open_campaign(sample_opened())
        store.append(other, small_tree()[:2])
        campaign = store.open_campaign(sample_opened())
        store.append(campaign, small_tree())
        assert [row.step for row in store.lineage(campaign, 6)] == [1, 4, 6]
        assert store.lineage(campaign, 2) == store.nodes(campaign)[1:2]
        found = store.children(campaign, [0, 1, 4, 6, 1], limit=2)
        assert {step: [row.step for row in of.rows] for step, of in found.items()} == {
            0: [2, 1], 1: [4, 3], 4: [6], 6: [],
        }  # fmt: skip
        assert {step: of.n_total for step, of in found.items()} == {0: 2, 1: 3, 4: 1, 6: 0}
        assert [row.step for row in store.children(campaign, [1], limit=9)[1].rows] == [4, 3, 5]
        assert len(store.children(campaign, range(1000), limit=1)) == 1000
        for step in (0, 7):
            with pytest.raises(UsageError, match=f"no step {step}"):
                store.lineage(campaign, step)

    def test_no_record_makes_a_lineage_endless(self, store: Store) -> None:
        """PS13, turned around: parents that no honest campaign has."""
        campaign = store.open_campaign(sample_opened())
        odd = [Move(operator=Operator.MUTATE, parents=parents) for parents in ((1,), (3,), (2,), (99,))]
        store.append(campaign, [sample_proposed(step, move=move) for step, move in enumerate(odd, 1)])
        assert [[row.step for row in store.lineage(campaign, step)] for step in (1, 2, 3, 4)] == [[1], [2], [2, 3], [4]]

    def test_campaigns_say_what_they_were_about(self, store: Store) -> None:
        opened = sample_opened()
        campaign = store.open_campaign(opened)
        store.append(campaign, whole_campaign()[:-1])
        (row,) = store.campaigns()
        assert (row.task_id, row.dtype, row.platform) == (opened.task.content_id, "float32", "fake")
        assert (row.closed, row.winner) == (False, None)
        store.append(campaign, whole_campaign()[-1:])
        (row,) = store.campaigns()
        assert (row.closed, row.winner, row.n_events) == (True, 1, 9)

    def test_a_campaign_from_elsewhere_is_taken_whole_or_not_at_all(self, store: Store) -> None:
        events = [sample_opened(), *whole_campaign()]
        assert store.adopt("theirs-123abc", iter(events)) == "theirs-123abc"
        assert store.read("theirs-123abc") == events
        again = store.adopt("theirs-123abc", events)
        assert again.startswith("theirs-123abc-")
        assert store.read(again) == events
        assert len(store.secret(again)) == 64
        assert store.secret(again) != store.secret("theirs-123abc")
        with pytest.raises(UsageError, match="step 9"):
            store.adopt("other-1", [sample_opened(), sample_judged(9)])
        with pytest.raises(UsageError, match="already proposed"):
            store.adopt("other-1", [sample_opened(), sample_proposed(1), sample_proposed(1)])
        with pytest.raises(RecordError, match="begins with"):
            store.adopt("other-1", events[1:])
        for bad in ("../up", "a/b", ".hidden", "", "a" * 300):
            with pytest.raises(UsageError, match="no campaign id"):
                store.adopt(bad, events)
        assert [row.id for row in store.campaigns()] == ["theirs-123abc", again]

    def test_a_writer_that_lost_its_campaign_stores_nothing(self, tmp_path: Path) -> None:
        """PS34: a late result of a process that was taken for dead."""
        now = [1000.0]
        store = self.make_store(tmp_path, lambda: now[0])
        campaign = store.open_campaign(sample_opened())
        first = store.claim(campaign, "host-a:1", lease_s=60.0)
        store.append(campaign, [sample_proposed(1)], token=first)
        now[0] += 59.0
        with pytest.raises(ClaimError, match=r"run by host-a:1 .* 1 s more"):
            store.claim(campaign, "host-b:2")
        assert store.claim(campaign, "host-a:1", lease_s=60.0) == first
        now[0] += 61.0
        store.append(campaign, [sample_proposed(2)], token=first)  # late, but nobody has taken over
        second = store.claim(campaign, "host-b:2", lease_s=60.0)
        assert second > first
        with pytest.raises(ClaimError, match="taken over by host-b:2"):
            store.append(campaign, [sample_judged(1)], token=first)
        with pytest.raises(ClaimError, match="host-b:2"):
            store.claim(campaign, "host-a:1")
        assert len(store.read(campaign)) == 3
        store.append(campaign, [sample_judged(1)], token=second)
        store.release(campaign, first)  # no longer its business
        with pytest.raises(ClaimError):
            store.claim(campaign, "host-c:3")
        store.release(campaign, second)
        assert store.claim(campaign, "host-c:3") > second
        store.append(campaign, [sample_judged(2)])  # without a token as ever
        with pytest.raises(UsageError, match="nowhere"):
            store.claim("nowhere", "host-a:1")

    def test_of_many_who_claim_at_once_one_gets_it(self, tmp_path: Path) -> None:
        self._needs_sharing()
        campaign = self.make_store(tmp_path).open_campaign(sample_opened())
        gate = _FORK.Event()
        pairs = [_FORK.Pipe(duplex=False) for _ in range(6)]
        workers = [
            _FORK.Process(target=self._claim, args=(tmp_path, campaign, f"worker:{number}", gate, sender))
            for number, (_, sender) in enumerate(pairs)
        ]
        for worker in workers:
            worker.start()
        gate.set()
        tokens = [receiver.recv() for receiver, _ in pairs]
        for worker in workers:
            worker.join(60)
        assert [worker.exitcode for worker in workers] == [0] * 6
        assert sorted(tokens) == [0] * 5 + [1]

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
        """PE54: and no two campaigns get one id."""
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

    @pytest.mark.slow
    def test_sixteen_processes_write_a_thousand_times_each(self, tmp_path: Path) -> None:
        """PS31: no error, no lost row."""
        self._needs_sharing()
        gate = _FORK.Event()
        workers = [_FORK.Process(target=self._write, args=(tmp_path, gate, 1000)) for _ in range(16)]
        for worker in workers:
            worker.start()
        gate.set()
        for worker in workers:
            worker.join(300)
        assert [worker.exitcode for worker in workers] == [0] * 16
        assert [row.n_events for row in self.make_store(tmp_path).campaigns()] == [1001] * 16

    @pytest.mark.parametrize("seed", range(4))
    def test_kill_during_writes_loses_nothing_that_was_appended(self, tmp_path: Path, seed: int) -> None:
        """PE54"""
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

    def _claim(self, folder: Path, campaign: str, owner: str, gate: object, sender: Connection) -> None:
        gate.wait()  # type: ignore[attr-defined]
        try:
            sender.send(self.make_store(folder).claim(campaign, owner))
        except ClaimError:
            sender.send(0)

    def _write_forever(self, folder: Path, sender: Connection) -> None:
        store = self.make_store(folder)
        campaign = store.open_campaign(sample_opened())
        sender.send(campaign)
        for step in range(1, 10**6):
            pair: Sequence[Event] = [sample_proposed(step), sample_judged(step)]
            store.append(campaign, pair)
            sender.send(2 * step)
