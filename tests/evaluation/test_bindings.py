"""Several shapes call through one process: what one of them bound there, the next must not run on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelevolve.evaluation.arena import Arena
from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.freezer import Window
from kernelevolve.evaluation.side import Side
from kernelevolve.model.task import Task

SHAPES = ({"R": 8, "C": 64}, {"R": 33, "C": 16})


class Recorder:
    """A caller that notes which arguments each call ran on."""

    core = None

    def __init__(self) -> None:
        self.bound: dict[int, Arguments] = {}
        self.calls: list[tuple[int, ...]] = []

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        self.bound |= slots

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        return

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        self.calls += [self.bound[slot].integers for slot in slots]
        return Window(reply="D", seconds=1e-4, cpu_s=0.0, open_s=1e-4, seen=glance() if glance else None)


def test_every_sample_runs_on_its_own_shape(row_scale: Task, cache: Path) -> None:
    bench = Bench(row_scale, n_threads=1, cache=cache)
    bench.use("secret")
    caller, arena = Recorder(), Arena(2**22)
    rng = random.Random(3)
    sides: list[Side] = [bench.side("eager", caller, arena, shape, trusted=True) for shape in SHAPES]
    for side, shape in zip(sides, SHAPES, strict=True):
        side.calibrate(bench.exam.feed(shape), timeout_s=1.0)
    for index in (0, 1, 0, 0, 1):  # any order, any number of times
        caller.calls.clear()
        sides[index].sample(bench.exam.feed(SHAPES[index]).take(2), sides[index].slots(rng), timeout_s=1.0)
        assert set(caller.calls) == {tuple(SHAPES[index].values())}
    arena.close()
    bench.close()
