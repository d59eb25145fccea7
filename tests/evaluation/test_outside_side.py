"""Host code on a device by the outside clock: what counts is what lies in memory when the clock stops."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelevolve.errors import MachineError, TaskError
from kernelevolve.evaluation.bench import N_LOOKS, Bench
from kernelevolve.evaluation.channel import Arguments, Channel
from kernelevolve.evaluation.cuda_runner import CudaRunner
from kernelevolve.evaluation.defences import Defences
from kernelevolve.evaluation.device import CudaDevice, HostDevice, host_path
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault, StrangeWork
from kernelevolve.evaluation.freezer import Freezer, Window
from kernelevolve.evaluation.judge import Judge
from kernelevolve.evaluation.outside_side import (
    MAX_DECOYS,
    RESOLUTION,
    SHORTEST_S,
    TURNS_S,
    OutsideSide,
    Snapshot,
    n_decoys,
)
from kernelevolve.evaluation.stages.measure import PLANS, Plan, Samples, collect, self_difference
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.libcuda import gpu

SHAPE = {"R": 300, "C": 257}
GOOD = "import torch\n\ndef row_scale(x, w, y, R, C):\n    torch.mul(x, w, out=y)\n    y += 1\n"
CHILD = """
import mmap, os, sys, time
import numpy as np
control, reply, path, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
file = os.open(path, os.O_RDWR)
memory = np.frombuffer(mmap.mmap(file, os.fstat(file).st_size), dtype=np.uint8)[2**20:]
slots = {}

def say(text):
    os.write(reply, text.encode())

def call(slot):
    (x, w, y), R, C = slots[slot]
    at = lambda offset, n: memory[offset : offset + 4 * n].view(np.float32)
    at(y, R * C).reshape(R, C)[:] = at(x, R * C).reshape(R, C) * at(w, C) + np.float32(1)

for line in os.fdopen(control):
    verb, words = line[0], line[1:].split()
    if verb == "A":
        slots[int(words[0])] = ([int(word) for word in words[4:7]], int(words[8]), int(words[9]))
        continue
    order = [int(word) for word in words[1:]]
    done = f"D {len(order)} 0\\n"
    if verb == "O" and kind == "late":
        say("L\\n" + done)
        time.sleep(0.05)
        call(order[0])
        continue
    if verb == "O":
        if kind == "early":
            say("L\\n")
            time.sleep(0.05)
        call(order[0])
        other = min(set(slots) - set(order), default=-1)
        if kind == "decoy":
            call(other)
        if kind in ("input", "decoys_input"):
            memory[slots[order[0] if kind == "input" else other][0][0] + 40] ^= 1
        if kind != "early":
            say("L\\n")
    say(done)
"""


class Scripted:
    """A caller with a real process behind it that does what `kind` says."""

    core = None

    def __init__(self, arena: DeviceArena, kind: str) -> None:
        self.bound: dict[int, Arguments] = {}
        self.readied: list[list[int]] = []
        self._channel = Channel()
        path = host_path(arena.handle)
        command = [sys.executable, "-c", CHILD, *map(str, (*self._channel.child_ends, path, kind))]
        self._process = subprocess.Popen(command, pass_fds=self._channel.child_ends)
        self._channel.close_child_ends()
        self._freezer = Freezer(self._process.pid)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._channel.close()

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        lines = b"".join(arguments.line(slot) for slot, arguments in slots.items())
        self._channel.timed(lines + b"T 0 \n", self._freezer, timeout_s=timeout_s)
        self.bound |= slots

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        return

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        raise NotImplementedError

    def ready(self, slots: Sequence[int], *, timeout_s: float) -> None:
        self.readied.append(list(slots))

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        line = f"O {len(slots)} {' '.join(map(str, slots))}\n".encode()
        return self._channel.outside(line, self._freezer, timeout_s=timeout_s, look=look)


class Clockwork(Scripted):
    """An honest process, and a clock that says what it is told to."""

    def __init__(self, arena: DeviceArena, seconds: float) -> None:
        super().__init__(arena, "honest")
        self._seconds = seconds

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        return replace(super().outside(slots, timeout_s=timeout_s, look=look), seconds=self._seconds)


class Tail(Scripted):
    """What it writes comes after the first look at the memory and before the last one, as where the last part of a call
    is a plain copy."""

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        look()
        window = super().outside(slots, timeout_s=timeout_s, look=lambda: None)
        look()
        return replace(window, seconds=1e-3, open_s=0.5)


class Roomy(HostDevice):
    """With so large a cache that there is room for all decoys."""

    l2_bytes = 2**20


class Gaps:
    """What the next watches will have seen."""

    worst_ns = 0
    n_left = 10**9
    coming: Sequence[int] = ()
    """Before anything else, one each."""

    def __call__(self) -> int:
        if self.coming:
            first, *self.coming = self.coming
            return first
        self.n_left -= 1
        return self.worst_ns if self.n_left >= 0 else 64


@pytest.fixture(scope="module")
def gaps() -> Gaps:
    return Gaps()


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(str(Path(__file__).parents[1] / "hostile" / "row_scale")).model_copy(update={"platform": "cuda"})


@pytest.fixture(scope="module")
def bench(cache: Path, task: Task, gaps: Gaps) -> Iterator[Bench]:
    bench = Bench(task, n_threads=1, cache=cache, device=Roomy(gaps))
    bench.use("s")
    yield bench
    bench.close()


@pytest.fixture(autouse=True)
def _quiet_again(gaps: Gaps) -> Iterator[None]:
    yield
    gaps.worst_ns, gaps.n_left, gaps.coming = 0, 10**9, ()


def sampled(bench: Bench, kind: str, n_samples: int = 2) -> tuple[OutsideSide, list[float], Scripted]:
    """Timed as a candidate is. Raises CandidateFault."""
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    arena.wipe()
    caller = Scripted(arena, kind)
    try:
        side = bench.side("candidate", caller, arena, SHAPE, outside=True)
        assert isinstance(side, OutsideSide)
        feed, rng = bench.feed(SHAPE), random.Random(3)
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
    layout, _ = bench.layout(SHAPE)
    found: list[float] = []
    for seconds, trusted in ((900e-6, False), (900e-6, True), (200e-6, False)):
        caller = Clockwork(arena, seconds)
        side = OutsideSide(
            snapshot=Snapshot(arena), empty_s=300e-6, name="one", caller=caller, arena=arena, task=bench.task,
            layout=layout, n_slots=2, n_threads=1, trusted=trusted, device=HostDevice(),
        )  # fmt: skip
        found.append(side.calibrate(bench.feed(SHAPE), timeout_s=5.0))
        caller.close()
    assert found == pytest.approx([600e-6, 600e-6, TURNS_S]), "so little content can be worked on without a turn"


@pytest.mark.parametrize(("n_bytes", "least_s"), [(2**20, TURNS_S), (2**28, RESOLUTION * 500e-6)])
def test_what_could_hide_in_the_turns_between_processes_takes_as_long_as_they(
    bench: Bench, n_bytes: int, least_s: float
) -> None:
    """Who copies the content to the host, works there and copies it back needs no turn of the device's."""
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    layout, _ = bench.layout(SHAPE)
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
        assert side.calibrate(bench.feed(SHAPE), timeout_s=5.0) > 0.4
    finally:
        caller.close()


def test_the_memory_is_looked_at_again_when_the_process_is_done(bench: Bench) -> None:
    arena = bench.arena("screen")
    assert isinstance(arena, DeviceArena)
    for kind in ("honest", "early"):
        caller = Scripted(arena, kind)
        looks: list[int] = []
        side = bench.side("candidate", caller, arena, SHAPE, outside=True)
        side.calibrate(bench.feed(SHAPE), timeout_s=5.0)
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

    layout, _ = bench.layout(SHAPE)
    side = Spied(
        snapshot=Snapshot(arena), name="one", caller=caller, arena=arena, task=bench.task, layout=layout, n_slots=3,
        n_threads=1, trusted=False, device=HostDevice(),
    )  # fmt: skip
    feed = bench.feed(SHAPE)
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
    collect(samples, side, [baseline], bench.feed(SHAPE), plan, random.Random(1), 5.0)
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


def python(text: str) -> Candidate:
    files = (SourceFile(path="kernel.py", text=text),)
    return Candidate(language="python", files=files, origin=Origin(proposer="tests"))


def job(task: Task, candidate: Candidate, **changes: object) -> Job:
    base = {"task": task, "candidate": candidate, "secret": "s", "n_threads": 1, "baselines": ("eager",)}
    return Job.model_validate({**base, "level": "screen", "limits": Limits(call_s=5.0), **changes})


@pytest.fixture(scope="module")
def judge(cache: Path, facts: PlatformFacts, gaps: Gaps) -> Iterator[Judge]:
    """Admission needs the device that the task names."""
    judge = Judge(cache=cache, facts=facts, device=Roomy(gaps), defences=Defences(without=("admission",)))
    yield judge
    judge.close()


def test_a_module_is_judged_from_end_to_end(judge: Judge, task: Task) -> None:
    found = judge.verdict(job(task, python(GOOD)))
    assert found.correct, found.message
    assert found.lane == "host"
    assert found.timing is not None
    (timing,) = found.timing.shapes
    assert timing.slope_us is None
    assert [one.baseline for one in timing.comparisons] == ["eager"]
    assert len(timing.comparisons[0].log_ratios) >= 3  # a screen ends there for one that is much slower


def test_a_module_that_is_right_at_first_and_idle_when_it_is_timed(judge: Judge, task: Task) -> None:
    idle = GOOD.replace(
        "    torch.mul", "    if R == 300 and S.append(1) is None and len(S) > 3: return\n    torch.mul"
    )
    found = judge.verdict(job(task, python(f"S = []\n{idle}")))
    assert found.outcome.value in ("unwritten", "wrong", "unstable"), found.message


def test_a_baseline_of_another_kind_is_refused(judge: Judge, task: Task) -> None:
    files = (
        SourceFile(path="kernel.cu", text='extern "C" __global__ void k(float* y) {}'),
        SourceFile(path="launch.toml", text=""),
    )
    device_code = Candidate(language="cuda", files=files, origin=Origin(proposer="tests", recipe="rival.cu"))
    with pytest.raises(TaskError, match="cannot be compared"):
        judge.verdict(job(task, python(GOOD), user_baselines=(device_code,)))


def test_a_gap_is_the_candidates_only_when_it_goes_with_it(judge: Judge, task: Task, gaps: Gaps) -> None:
    judge.prepare(job(task, python(GOOD))).prepare_outside("screen", ("eager",))
    gaps.worst_ns = 3_000_000
    with pytest.raises(MachineError, match="somebody else uses this GPU"):
        judge.verdict(job(task, python(f"{GOOD}# once more\n")))


def test_a_gap_that_goes_with_the_candidate_is_its_verdict(judge: Judge, task: Task, gaps: Gaps) -> None:
    judge.prepare(job(task, python(GOOD))).prepare_outside("screen", ("eager",))
    # The process that was killed is still being cleared away for two looks; then its second one starts.
    # Before each of them there is one look, whether the device is quiet.
    gaps.coming = [64, *[3_000_000] * 3, *[64] * (1 + N_LOOKS), 64, 3_000_000, *[64] * (1 + N_LOOKS)]
    found = judge.verdict(job(task, python(f"{GOOD}# twice more\n")))
    assert found.outcome.value == "clock_disputed"
    assert "while the candidate stood still (3000 us at a stretch)" in found.message
    assert not gaps.coming, "the device was watched for a while before that was said"
    assert [report.stage.value for report in found.stages] == ["inspect", "build", "check", "measure"]


def test_a_gap_that_was_anybodys_once_is_nobodys_verdict(judge: Judge, task: Task, gaps: Gaps) -> None:
    judge.prepare(job(task, python(GOOD))).prepare_outside("screen", ("eager",))
    gaps.coming = [64, 3_000_000]
    found = judge.verdict(job(task, python(f"{GOOD}# and again\n")))
    assert found.correct, found.message


def test_who_compiles_in_a_first_call_has_the_time_that_a_build_may_take(judge: Judge, task: Task) -> None:
    slow = GOOD.replace("    torch.mul", "    if S.append(1) is None and len(S) == 1: time.sleep(1.5)\n    torch.mul")
    limits = Limits(call_s=0.5, build_s=20.0)
    found = judge.verdict(job(task, python(f"import time\nS = []\n{slow}"), level="check", limits=limits))
    assert found.correct, found.message


needs_gpu = pytest.mark.skipif(gpu() is None, reason="needs an NVIDIA GPU")
SPINS = """
import sys, torch
torch.empty(1, device="cuda").fill_(1)
torch.cuda.synchronize()
for line in sys.stdin:
    for _ in range(int(line)):
        torch.cuda._sleep(20_000_000)
    print("queued", flush=True)
"""


@pytest.mark.device
@needs_gpu
def test_the_watch_sees_another_process_work_and_nothing_when_there_is_none() -> None:
    device = CudaDevice()
    with device.watched() as first:
        pass
    assert first.n_gaps == 0, f"alone, and a gap of {first.worst_gap_ns} ns"
    other = subprocess.Popen(
        [sys.executable, "-c", SPINS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert other.stdin is not None
    assert other.stdout is not None
    try:
        seen = []
        for n_kernels in (0, 30, 0):
            other.stdin.write(f"{n_kernels}\n")
            other.stdin.flush()
            assert other.stdout.readline().strip() == "queued"
            with device.watched() as watch:
                pass
            seen.append((watch.n_gaps, watch.worst_gap_ns))
            torch.cuda.synchronize()
            if n_kernels:  # about 0.3 s of work is left to end
                other.stdin.write("0\n")
                other.stdin.flush()
                other.stdout.readline()
                while True:
                    with device.watched() as after:
                        pass
                    if after.n_gaps == 0:
                        break
    finally:
        other.kill()
        other.wait()
    print("gaps", seen)
    assert seen[0][0] == 0, f"the other process stands idle: {seen}"
    assert seen[1][0] > 0, f"the other process spins: {seen}"
    assert seen[1][1] > 500_000, f"a turn is about 2 ms: {seen}"
    assert seen[2][0] == 0, f"idle again: {seen}"


@pytest.fixture(scope="module")
def timed_on_gpu(cache: Path) -> Iterator[Bench]:
    """About 300 us a call on a large GPU."""
    task = load_task(str(Path(__file__).parents[1] / "attacks" / "tasks" / "row_scale"), platform="cuda")
    shapes = task.shapes.model_copy(update={"shown": ({"R": 64, "C": 64},), "search": ({"R": 16384, "C": 8191},)})
    task = task.model_copy(update={"shapes": shapes})
    bench = Bench(task, n_threads=4, cache=cache)
    bench.use("s")
    yield bench
    bench.close()


@pytest.mark.device
@needs_gpu
def test_what_a_round_trip_costs_and_a_baseline_against_itself(timed_on_gpu: Bench) -> None:
    bench, shape = timed_on_gpu, {"R": 16384, "C": 8191}
    bench.prepare_outside("screen", ("eager",))
    side = bench.baseline("eager", shape, "screen", outside=True)
    assert isinstance(side, OutsideSide)
    feed, rng = bench.feed(shape), random.Random(1)
    seconds = sorted(side.sample(feed.take(1), side.slots(rng), timeout_s=60.0) for _ in range(9))
    difference = self_difference(side, feed, rng)
    print(f"c0 {side._empty_s * 1e6:.0f} us, calls {[round(1e6 * one) for one in seconds]} us, A/A {difference:.4f}")  # noqa: SLF001
    assert 1e-4 < side._empty_s < 3e-3, "a round trip: two changes of context, and a copy of all slots"  # noqa: SLF001
    assert 1e-4 < seconds[4] < 3e-3
    assert abs(difference) < 0.05
