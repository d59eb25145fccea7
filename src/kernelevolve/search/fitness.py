"""What the search ranks by. Adding one: a `Fitness` in `FITNESS`; a comparison on it knows which way is better."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kernelevolve.errors import UnknownNameError
from kernelevolve.model.verdict import Verdict

PARETO = "pareto"


class Direction(Enum):
    """Which way is better. The value is the sign that makes more better."""

    HIGHER = 1
    LOWER = -1


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """One measured quantity. `value` is in `unit`, None for what was not measured."""

    name: str
    unit: str
    direction: Direction
    value: Callable[[Verdict], float | None]

    def score(self, verdict: Verdict) -> float | None:
        """ln of the value, signed so that more is always better. None unless correct, measured and above zero."""
        value = self.value(verdict) if verdict.correct else None
        if value is None or not 0.0 < value < math.inf:
            return None
        return self.direction.value * math.log(value)


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """What a tree is ranked by: the first objective gives a node its score; further ones make fronts, by which nodes
    are ranked first."""

    objectives: tuple[Fitness, ...]

    @property
    def fronts(self) -> bool:
        return len(self.objectives) > 1

    def score(self, verdict: Verdict) -> float | None:
        return self.objectives[0].score(verdict)

    def point(self, verdict: Verdict) -> tuple[float, ...]:
        """One number per objective, more is better; what was not measured is worse than anything that was."""
        scores = [objective.score(verdict) for objective in self.objectives]
        return tuple(-math.inf if score is None else score for score in scores)


def _speedup(verdict: Verdict) -> float | None:
    return verdict.timing.low if verdict.timing else None


def _latency_us(verdict: Verdict) -> float | None:
    return _mean([shape.latency_us for shape in verdict.timing.shapes]) if verdict.timing else None


def _energy_uj(verdict: Verdict) -> float | None:
    return _mean([shape.energy_uj for shape in verdict.timing.shapes]) if verdict.timing else None


def _mean(values: list[float] | list[float | None]) -> float | None:
    """Geometric. None when one value is missing: a mean of the others would not compare with other nodes' means."""
    known = [value for value in values if value is not None and value > 0.0]
    if not known or len(known) < len(values):
        return None
    return math.exp(math.fsum(map(math.log, known)) / len(known))


FITNESS = {
    "speedup": Fitness(name="speedup", unit="1", direction=Direction.HIGHER, value=_speedup),
    "latency": Fitness(name="latency", unit="us", direction=Direction.LOWER, value=_latency_us),
    "energy": Fitness(name="energy", unit="uJ", direction=Direction.LOWER, value=_energy_uj),
}
"""speedup: lower bound of the 95 % interval. latency, energy: of one call, geometric mean over the shapes."""
DEFAULT_OBJECTIVES = ("speedup", "energy")


def make_ruler(name: str) -> Ruler:
    """`speedup`, `latency`, `energy`, `pareto`, or `pareto:NAME,NAME`. Raises UnknownNameError."""
    kind, _, objectives = name.partition(":")
    if kind == PARETO:
        names = tuple(part.strip() for part in objectives.split(",")) if objectives else DEFAULT_OBJECTIVES
        return Ruler(objectives=fitnesses(tuple(dict.fromkeys(names))))
    return Ruler(objectives=fitnesses((name,)))


def fitnesses(names: tuple[str, ...]) -> tuple[Fitness, ...]:
    """Raises UnknownNameError."""
    for name in names:
        if name not in FITNESS:
            raise UnknownNameError("fitness", name, (*FITNESS, PARETO))
    return tuple(FITNESS[name] for name in names)
