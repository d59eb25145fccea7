"""One side of a comparison: a caller with slots. Both sides are loaded, warmed and timed by the same code."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from kernelevolve.evaluation.arena import Arena, Bytes, Layout
from kernelevolve.evaluation.channel import Caller
from kernelevolve.evaluation.compare import same_bytes, unwritten
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Outcome

SAMPLE_S = 1e-3
"""A sample lasts at least this long where the slots allow: a call's own overhead is then below 2 %."""
STAT = Path("/proc/stat")
WARM_S = 3e-3
"""Calls shorter than this get an untimed one before each sample: sleeping threads would show."""
EVICT_BYTES = 128 * 2**20
"""Several times the last-level cache of common machines."""
SETTLE_S = 1e-3
"""Lets the other side's idle threads go to sleep before this side is timed."""


@cache
def _beyond_cache() -> Bytes:
    return np.ones(EVICT_BYTES, dtype=np.uint8)


def evict() -> None:
    """Fill the shared cache with something else."""
    _beyond_cache()[::64] += 1


def others_running() -> int:
    """Runnable threads on this machine besides the one that asks. Between samples both sides sleep, so these are
    other people's work. 0 where the kernel does not say."""
    if not STAT.exists():
        return 0
    line = next((line for line in STAT.read_text().splitlines() if line.startswith("procs_running")), "procs_running 1")
    return max(0, int(line.split()[1]) - 1)


def _nothing() -> None:
    return


class Side:
    """`sample` times one call; `verify` looks at what the timed calls wrote."""

    def __init__(
        self,
        *,
        name: str,
        caller: Caller,
        arena: Arena,
        task: Task,
        draws: list[Draw],
        layout: Layout,
        n_slots: int,
        trusted: bool,
        before: Callable[[], None] = _nothing,
    ) -> None:
        self.name = name
        self._caller = caller
        self._arena = arena
        self._task = task
        self._draws = draws
        self._layout = layout
        self._n_slots = n_slots
        self._trusted = trusted
        self._before = before
        self._n_calls = 1
        self._warms_up = True
        self._loaded: dict[int, int] = {}
        self._right: dict[tuple[int, str], Bytes] = {}
        self.n_checks = 0
        self.strangers: list[int] = []

    def calibrate(self, *, timeout_s: float) -> float:
        """Warm up on every draw and choose how many calls make a sample; returns seconds per call."""
        self._before()
        rng = random.Random(0)
        for index in range(len(self._draws)):
            self._load(0, index)
            self._caller.run([0], timeout_s=timeout_s)
            if not self._trusted:
                self._verify_slot(0)
        seconds = self.sample(rng, timeout_s=timeout_s)
        if seconds < WARM_S:
            seconds = min(seconds, self.sample(rng, timeout_s=timeout_s))
        self._n_calls = max(1, min(self._n_slots, round(SAMPLE_S / max(seconds, 1e-7))))
        self._warms_up = seconds < WARM_S
        return seconds

    def sample(self, rng: random.Random, *, timeout_s: float) -> float:
        """Seconds per call over slots that have just been given new content, on the judge's clock."""
        self._before()
        slots = rng.sample(range(self._n_slots), self._n_calls)
        for slot in (*([self._n_slots] if self._warms_up else []), *slots):
            self._load(slot, rng.randrange(len(self._draws)))
        time.sleep(SETTLE_S)
        self.strangers.append(others_running())
        if self._warms_up:
            self._caller.run([self._n_slots], timeout_s=timeout_s)
        if self._task.objective.cache == "warm":
            self._caller.touch(slots, timeout_s=timeout_s)
        else:
            evict()
        seconds = self._caller.run(slots, timeout_s=timeout_s) / len(slots)
        if not self._trusted:
            self._verify_slot(rng.choice(slots))
        return seconds

    def _load(self, slot: int, index: int) -> None:
        draw = self._draws[index]
        self._arena.prepare(slot, self._layout, draw.contents, draw.outputs(self._task))
        self._caller.bind(slot, draw.arguments(self._task, self._layout, slot))
        self._loaded[slot] = index

    def _verify_slot(self, slot: int) -> None:
        """Equal to bytes already found right, or right by the rule."""
        index = self._loaded[slot]
        draw = self._draws[index]
        for spec in self._task.written:
            got = self._arena.view(slot, self._layout, spec.name, draw.n_bytes[spec.name])
            known = self._right.get((index, spec.name))
            if known is not None and same_bytes(known, got):
                continue
            self.n_checks += 1
            mismatch = draw.answers[spec.name].judge(got, draw.shape)
            if mismatch is not None:
                outcome = (
                    Outcome.UNWRITTEN if unwritten(got) else Outcome.UNSTABLE if known is not None else Outcome.WRONG
                )
                raise CandidateFault(outcome, f"{spec.name} is wrong in a timed call", mismatch=mismatch)
            if known is None:
                self._right[index, spec.name] = got.copy()
