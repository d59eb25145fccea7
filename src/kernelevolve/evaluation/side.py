"""One side of a comparison: a caller with slots. Both sides are loaded, woken and timed by the same code."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from kernelevolve.evaluation.arena import Bytes, Layout
from kernelevolve.evaluation.channel import Caller
from kernelevolve.evaluation.cores import on
from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.freezer import Window
from kernelevolve.evaluation.looking import AnyArena, look
from kernelevolve.evaluation.stock import Feed
from kernelevolve.evaluation.strangers import others_running
from kernelevolve.evaluation.tensors import unwritten
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Outcome

Places = np.ndarray[Any, np.dtype[np.int64]]
SAMPLE_S = 1e-3
"""A sample lasts at least this long where the slots allow: waking the process is then a few per cent of it."""
EVICT_BYTES = 128 * 2**20
"""Several times the last-level cache of common machines."""
GLANCES = 256
"""Bytes looked at when the clock stops: a hundredth of the outputs still missing is seen nine times in ten."""
CPU_SLACK_S = 3e-4
CPU_SHARE = 1.05
"""Processor time a sample may use beyond its threads' wall time: waking, stopping, the accounting's own grain."""


@cache
def _beyond_cache() -> Bytes:
    return np.ones(EVICT_BYTES, dtype=np.uint8)


def evict() -> None:
    """Fill the shared cache with something else."""
    _beyond_cache()[::64] += 1


def nothing() -> None:
    return


class Side:
    """`sample` times calls on given draws and looks at everything they wrote."""

    on_device = False
    outside = False
    """Whether one call makes a sample, timed around everything, whatever clocks the device has."""

    def __init__(
        self,
        *,
        name: str,
        caller: Caller,
        arena: AnyArena,
        task: Task,
        layout: Layout,
        n_slots: int,
        n_threads: int,
        trusted: bool,
        before: Callable[[], None] = nothing,
        defences: Defences = ALL,
    ) -> None:
        self.name = name
        self._caller = caller
        self._arena = arena
        self._held: AnyArena = arena  # where it is looked at what a call has left
        self._task = task
        self._layout = layout
        self._n_slots = n_slots
        self._n_threads = n_threads
        self._trusted = trusted
        self._before = before
        self._defences = defences
        self._decoy: Draw | None = None
        self._generator = np.random.default_rng(int.from_bytes(os.urandom(8)))
        self.n_calls = self.n_wanted = 1
        """How many calls make a sample: now, and by this side's own speed."""
        self.n_checks = 0
        self.strangers: list[int] = []

    def calibrate(self, feed: Feed, *, timeout_s: float) -> float:
        """Map the slots, warm up and choose how many calls make a sample; returns seconds per call."""
        self._before()
        rng = random.Random(0)
        slots = range(self._n_slots + 1)
        first = feed.take(1)
        self._bind(dict.fromkeys(slots, first[0]), timeout_s)
        self._load({self._n_slots: first[0]})  # the decoy: looks like a slot that is about to be called, never is
        self._decoy = first[0]
        self._caller.touch(slots, timeout_s=timeout_s)
        self.sample(first, self.slots(rng), timeout_s=timeout_s)
        seconds = min(self.sample(feed.take(1), self.slots(rng), timeout_s=timeout_s) for _ in range(2))
        self.n_calls = self.n_wanted = max(1, min(self._n_slots, round(SAMPLE_S / max(seconds, 1e-7))))
        return seconds

    @property
    def n_draws(self) -> int:
        """How many a whole sample takes: one more than is called, the decoy's."""
        return self.n_calls + 1

    def slots(self, rng: random.Random) -> list[int]:
        """All slots in random order. The sides of a pair are given the same order: each works where the others did."""
        return rng.sample(range(self._n_slots), self._n_slots)

    def sample(self, draws: Sequence[Draw], order: Sequence[int], *, timeout_s: float) -> float:
        """Seconds per call over as many of `draws` as make a sample of this side, on the judge's clock, nothing
        subtracted. They lie in the first slots of `order`."""
        self._before()
        slots = order[: max(1, min(self.n_calls, len(draws)))]
        loaded = dict(zip(slots, draws, strict=False))
        # Beside the child: what is written then lies in its caches, and the judge sleeps where the child works instead
        # of keeping one of its threads waiting on another processor.
        core = self._caller.core
        with on({core} if core is not None else set()):
            self._bind(loaded, timeout_s)
            self._load(loaded)
            places = self._places(loaded)
            window = self._caller.run(slots, timeout_s=timeout_s, glance=lambda: self._arena.bytes[places])
        if not self._trusted:
            if "glance" in self._defences and (self._arena.bytes[places] != window.seen).any():
                raise CandidateFault(Outcome.UNSTABLE, "an output changed after the answer had been given")
            self._check(loaded, window)
        return window.seconds / len(slots)

    def _places(self, loaded: dict[int, Draw]) -> Places:
        """Where to look at the moment the clock stops: bytes of the outputs, spread at random."""
        chosen: list[Places] = [np.empty(0, dtype=np.int64)]
        share = max(1, GLANCES // (len(loaded) * len(self._task.written)))
        for slot, draw in loaded.items():
            for spec in self._task.written:
                n_bytes = draw.n_bytes[spec.name]
                if n_bytes:
                    chosen.append(self._layout.start(slot, spec.name) + self._generator.integers(n_bytes, size=share))
        places: Places = np.concatenate(chosen)
        return places

    def _bind(self, wanted: dict[int, Draw], timeout_s: float) -> None:
        """Only what changed: most draws differ in content alone. What is bound is the caller's to know: others, for
        other shapes, call through it as well."""
        lines = {slot: draw.arguments(self._task, self._layout, slot) for slot, draw in wanted.items()}
        new = {slot: line for slot, line in lines.items() if self._caller.bound.get(slot) != line}
        if new:
            self._caller.bind(new, timeout_s=timeout_s)

    def _load(self, wanted: dict[int, Draw]) -> None:
        poison = "poison" in self._defences
        for slot, draw in wanted.items():
            self._arena.prepare(slot, self._layout, draw.contents, draw.outputs(self._task), poison=poison)
        self.strangers.append(others_running())  # both sides stand still: these are other people's work
        # warm: what was just written is in the cache as far as it fits
        if self._task.objective.cache == "cold":
            evict()

    def _check(self, loaded: dict[int, Draw], window: Window) -> None:
        if "cpu_clock" in self._defences and window.cpu_s > CPU_SLACK_S + CPU_SHARE * self._n_threads * window.open_s:
            raise CandidateFault(
                Outcome.CLOCK_DISPUTED,
                f"used {window.cpu_s * 1e6:.0f} us of processor time in {window.open_s * 1e6:.0f} us with "
                f"{self._n_threads} threads allowed",
            )
        for slot, draw in loaded.items():
            self.n_checks += self._look(slot, draw)
        if self._decoy is not None and "decoys" in self._defences and "poison" in self._defences:
            for spec in self._task.outputs:
                held = self._arena.view(self._n_slots, self._layout, spec.name, self._decoy.n_bytes[spec.name])
                if held.size and not unwritten(held):
                    raise CandidateFault(Outcome.OUT_OF_BOUNDS, f"wrote {spec.name} of a slot it was not called on")

    def _look(self, slot: int, draw: Draw) -> int:
        return look(
            self._task, self._held, self._layout, slot, draw, when=" in a timed call", defences=self._defences,
            outputs="timed_outputs" in self._defences,
        )  # fmt: skip
