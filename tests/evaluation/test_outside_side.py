"""Host code on a device by the outside clock: what counts is what lies in memory when the clock stops."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.cuda_runner import CudaRunner
from kernelevolve.evaluation.device import HostDevice
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault, StrangeWork
from kernelevolve.evaluation.outside_side import (
    MAX_DECOYS,
    RESOLUTION,
    SHORTEST_S,
    TURNS_S,
    OutsideSide,
    Snapshot,
    n_decoys,
)
from kernelevolve.evaluation.stages.measure import PLANS, Plan, Samples, collect
from kernelevolve.model.task import Task
from tests.evaluation.outside_fakes import SHAPE, Clockwork, Gaps, Roomy, Scripted, Tail


@pytest.fixture(scope="module")
def gaps() -> Gaps:
    return Gaps()


@pytest.fixture(scope="module")
def task(row_scale: Task) -> Task:
    return row_scale.model_copy(update={"platform": "cuda"})


@pytest.fixture(scope="module")
def bench(cache: Path, task: Task, gaps: Gaps) -> Iterator[Bench]:
    bench = Bench(task, n_threads=1, cache=cache, device=Roomy(gaps))
    bench.use("s")
    yield bench
    bench.close()


@pytest.fixture(autouse=True)
def _quiet_again(gaps: Gaps) -> Iterator[None]:
    yield
    gaps.forget()


def sampled(bench: Bench, kind: str, n_samples: int = 2) -> tuple[OutsideSide, list[float], Scripted]:
    """Timed as a candidate is. Raises CandidateFault."""
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    arena.wipe()
    caller = Scripted(arena, kind)
    try:
        side = bench.side("candidate", caller, arena, SHAPE, outside=True)
        assert isinstance(side, OutsideSide)
        feed, rng = bench.exam.feed(SHAPE), random.Random(3)
        side.calibrate(feed, timeout_s=5.0)
        seconds = [side.sample(feed.take(side.n_draws), side.slots(rng), timeout_s=5.0) for _ in range(n_samples)]
    finally:
        caller.close()
    return side, seconds, caller


def test_an_honest_call_is_one_sample_among_decoys_that_are_all_made_ready(bench: Bench) -> None:
    """Nothing tells the process before the clock runs which of the slots it will be."""
    side, seconds, caller = sampled(bench, "honest")
    assert side.n_calls == 1
    assert side.n_draws == MAX_DECOYS + 1
    assert side.n_checks == 5
    assert all(SHORTEST_S <= one < 0.1 for one in seconds)
    assert caller.readied == [list(range(MAX_DECOYS + 1))]


def test_whoever_finishes_after_the_look_has_the_wrong_bytes_in_it(bench: Bench) -> None:
    with pytest.raises(CandidateFault, match="elements of y wrong") as caught:
        sampled(bench, "late")
    assert caught.value.outcome.value == "unwritten"


def test_whoever_says_early_that_all_is_queued_gains_no_time(bench: Bench) -> None:
    _, seconds, _ = sampled(bench, "early")
    assert min(seconds) > 0.04


@pytest.mark.parametrize(
    ("kind", "outcome", "words"),
    [
        ("decoy", "out_of_bounds", "wrote y of a slot it was not called on"),
        ("input", "input_changed", "input x was changed in a timed call"),
        ("decoys_input", "input_changed", "input x was changed of a slot it was not called on"),
    ],
)
def test_everything_is_looked_at_as_it_was_when_the_clock_stopped(
    bench: Bench, kind: str, outcome: str, words: str
) -> None:
    with pytest.raises(CandidateFault, match=words) as caught:
        sampled(bench, kind)
    assert caught.value.outcome.value == outcome


def test_what_the_device_does_meanwhile_is_a_suspicion_and_quiet_afterwards_a_verdict(bench: Bench, gaps: Gaps) -> None:
    bench.prepare_outside("screen", ("eager",))
    gaps.worst_ns = 2_400_000
    with pytest.raises(StrangeWork, match="2400 us at a stretch") as caught:
        sampled(bench, "honest")
    assert caught.value.outcome.value == "clock_disputed"
    gaps.worst_ns = 64
    assert bench.is_quiet()


def test_gaps_that_stay_without_a_candidate_are_the_machines(bench: Bench, gaps: Gaps) -> None:
    bench.prepare_outside("screen", ("eager",))
    gaps.worst_ns = 2_400_000
    assert not bench.is_quiet()
    bench.use("another")
    with pytest.raises(MachineError, match="somebody else uses this GPU"):
        bench.prepare_outside("screen", ("eager",))
    gaps.worst_ns = 0
    bench.use("s")


def test_the_same_is_taken_off_every_side_and_never_all_of_it(bench: Bench) -> None:
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    layout, _ = bench.exam.layout(SHAPE)
    found: list[float] = []
    for seconds, trusted in ((900e-6, False), (900e-6, True), (200e-6, False)):
        caller = Clockwork(arena, seconds)
        side = OutsideSide(
            snapshot=Snapshot(arena), empty_s=300e-6, name="one", caller=caller, arena=arena, task=bench.task,
            layout=layout, n_slots=2, n_threads=1, trusted=trusted, device=HostDevice(),
        )  # fmt: skip
        found.append(side.calibrate(bench.exam.feed(SHAPE), timeout_s=5.0))
        caller.close()
    assert found == pytest.approx([600e-6, 600e-6, TURNS_S]), "so little content can be worked on without a turn"


@pytest.mark.parametrize(("n_bytes", "least_s"), [(2**20, TURNS_S), (2**28, RESOLUTION * 500e-6)])
def test_what_could_hide_in_the_turns_between_processes_takes_as_long_as_they(
    bench: Bench, n_bytes: int, least_s: float
) -> None:
    """Who copies the content to the host, works there and copies it back needs no turn of the device's."""
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    layout, _ = bench.exam.layout(SHAPE)
    side = OutsideSide(
        snapshot=Snapshot(arena), empty_s=500e-6, name="one", caller=Clockwork(arena, 1e-3), arena=arena,
        task=bench.task, layout=layout, n_slots=1, n_threads=1, trusted=False, device=HostDevice(),
    )  # fmt: skip
    side._layout = replace(layout, n_bytes=n_bytes)  # noqa: SLF001 - only its size matters
    assert side._least_s == pytest.approx(least_s)  # noqa: SLF001


def test_what_is_still_written_at_the_first_look_is_right_and_takes_until_the_last(bench: Bench) -> None:
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    caller = Tail(arena, "honest")
    side = bench.side("candidate", caller, arena, SHAPE, outside=True)
    try:
        assert side.calibrate(bench.exam.feed(SHAPE), timeout_s=5.0) > 0.4
    finally:
        caller.close()


def test_the_memory_is_looked_at_again_when_the_process_is_done(bench: Bench) -> None:
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    for kind in ("honest", "early"):
        caller = Scripted(arena, kind)
        looks: list[int] = []
        side = bench.side("candidate", caller, arena, SHAPE, outside=True)
        side.calibrate(bench.exam.feed(SHAPE), timeout_s=5.0)
        window = caller.outside([0], timeout_s=5.0, look=partial(looks.append, 1))
        caller.close()
        assert len(looks) == 2
        assert window.open_s >= window.seconds > 0
        assert kind == "honest" or window.open_s == window.seconds > 0.04


def test_in_a_warm_cache_the_called_slot_was_written_last(bench: Bench) -> None:
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    caller = Scripted(arena, "honest")
    filled: list[int] = []

    class Spied(OutsideSide):
        def _load(self, wanted: dict[int, Draw]) -> None:
            filled[:] = wanted
            super()._load(wanted)

    layout, _ = bench.exam.layout(SHAPE)
    side = Spied(
        snapshot=Snapshot(arena), name="one", caller=caller, arena=arena, task=bench.task, layout=layout, n_slots=3,
        n_threads=1, trusted=False, device=HostDevice(),
    )  # fmt: skip
    feed = bench.exam.feed(SHAPE)
    side.calibrate(feed, timeout_s=5.0)
    side.sample(feed.take(4), [2, 0, 3, 1], timeout_s=5.0)
    caller.close()
    assert filled == [1, 3, 0, 2]


def test_an_empty_round_trip_is_measured_once_and_shared(bench: Bench) -> None:
    bench.prepare_outside("screen", ("eager",))
    arena = bench.arena("screen")
    baseline = bench.baseline("eager", SHAPE, "screen", outside=True)
    assert baseline is not None
    caller = Scripted(arena, "honest")  # type: ignore[arg-type]
    candidate = bench.side("candidate", caller, arena, SHAPE, outside=True)
    caller.close()
    empty = {side._empty_s for side in (baseline, candidate) if isinstance(side, OutsideSide)}  # noqa: SLF001
    assert len(empty) == 1
    assert 0 < empty.pop() < 0.05


def test_large_slots_have_fewer_decoys() -> None:
    assert n_decoys(2**20) == 7
    assert n_decoys(64 * 2**20) == 3
    assert n_decoys(2**30) == 1


def test_a_claim_takes_no_slopes_and_times_no_call_alone_again(bench: Bench) -> None:
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    caller = Scripted(arena, "honest")
    side = bench.side("candidate", caller, arena, SHAPE, outside=True)
    baseline = bench.baseline("eager", SHAPE, "screen", outside=True)
    assert baseline is not None
    samples, plan = Samples(), Plan(min_pairs=3, max_pairs=3, budget_s=0.0, reads_slope=True)
    collect(samples, side, [baseline], bench.exam.feed(SHAPE), plan, random.Random(1), 5.0)
    caller.close()
    assert [len(group) for group in samples.candidate] == [3]
    assert [len(group) for group in samples.baselines["eager"]] == [3]
    assert not samples.slopes
    assert not samples.alone
    assert PLANS["sealed"].reads_slope


def test_device_code_has_a_clock_of_its_own() -> None:
    runner = CudaRunner.__new__(CudaRunner)
    with pytest.raises(MachineError, match="a clock of its own"):
        runner.outside([0], timeout_s=1.0, look=lambda: None)
    with pytest.raises(MachineError, match="a clock of its own"):
        runner.ready([0], timeout_s=1.0)
