"""The watch and the outside clock on a GPU."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.device import CudaDevice
from kernelevolve.evaluation.outside_side import OutsideSide
from kernelevolve.evaluation.stages.measure import self_difference
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.libcuda import gpu

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
    feed, rng = bench.exam.feed(shape), random.Random(1)
    seconds = sorted(side.sample(feed.take(1), side.slots(rng), timeout_s=60.0) for _ in range(9))
    difference = self_difference(side, feed, rng)
    print(f"c0 {side._empty_s * 1e6:.0f} us, calls {[round(1e6 * one) for one in seconds]} us, A/A {difference:.4f}")  # noqa: SLF001
    assert 1e-4 < side._empty_s < 3e-3, "a round trip: two changes of context, and a copy of all slots"  # noqa: SLF001
    assert 1e-4 < seconds[4] < 3e-3
    assert abs(difference) < 0.05
