"""What the history says about knobs: an additive model of ln(speedup), one effect per knob value.

effect(knob, value) is fitted by a few rounds of backfitting; each effect is shrunk towards 0 as if two more
attempts had shown none, so that one lucky timing does not settle a question.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kernelevolve.model.brief import Attempt
from kernelevolve.proposers.builtin.arm import Arm, Settings

SHRINK = 2.0
ROUNDS = 8
FAILURE = 0.7
"""A failed attempt counts as this much (in ln) below the slowest correct one."""


class Evidence:
    """About one arm."""

    def __init__(self, arm: Arm, history: Iterable[Attempt]) -> None:
        names = {knob.name for knob in arm.knobs}
        attempts = [
            attempt
            for attempt in history
            if attempt.candidate.origin.recipe == arm.title and set(attempt.candidate.origin.parameters) == names
        ]
        known = [math.log(attempt.speedup) for attempt in attempts if attempt.speedup]
        floor = min(known, default=0.0) - FAILURE
        self._rows = [
            (attempt.candidate.origin.parameters, math.log(attempt.speedup) if attempt.speedup else floor)
            for attempt in attempts
        ]
        self.best: float | None = max(known, default=None)
        self.n_attempts = len(attempts)
        self._effects = self._fit(names)

    def effect(self, knob: str, value: str) -> float:
        """Estimated ln(speedup) this value adds, 0 when nothing is known."""
        return self._effects.get((knob, value), 0.0)

    def gain(self, before: Mapping[str, str], after: Mapping[str, str]) -> float:
        return sum(
            self.effect(knob, value) - self.effect(knob, before[knob])
            for knob, value in after.items()
            if before[knob] != value
        )

    def n_tried(self, knob: str, value: str) -> int:
        return sum(settings.get(knob) == value for settings, _ in self._rows)

    def _fit(self, names: set[str]) -> dict[tuple[str, str], float]:
        effects: dict[tuple[str, str], float] = {}
        if not self._rows:
            return effects
        mean = sum(score for _, score in self._rows) / len(self._rows)
        for _ in range(ROUNDS):
            for name in sorted(names):
                residuals: dict[str, list[float]] = {}
                for settings, score in self._rows:
                    others = sum(effects.get((other, settings[other]), 0.0) for other in names if other != name)
                    residuals.setdefault(settings[name], []).append(score - mean - others)
                for value, found in residuals.items():
                    effects[name, value] = sum(found) / (len(found) + SHRINK)
        return effects


def distance(arm: Arm, knob: str, before: str, after: str) -> int:
    """Steps between two values of a knob: in numeric order where all are numbers, else 1."""
    known = arm.knob(knob)
    values = known.values if known else ()
    if not all(value.lstrip("-").isdigit() for value in (*values, before)):
        return 1
    ordered = sorted({*map(int, values), int(before)})
    return abs(ordered.index(int(before)) - ordered.index(int(after)))


def difference(before: Settings, after: Settings) -> str:
    """ "UNROLL 4 -> 8, threads 2 -> 1"."""
    return ", ".join(f"{name} {before[name]} -> {value}" for name, value in after.items() if before[name] != value)
