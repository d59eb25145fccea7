"""Numbers from campaigns: how near the best known each one ended, with intervals. Pure; logarithms are natural."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from search_campaigns import BUDGET, Row

Pair = tuple[str, int]
"""Task and seed: what two configurations are compared on."""
Values = Mapping[tuple[str, str], float]
"""Speed-up of (task, candidate) in the second, independent measurement."""
N_RESAMPLES = 4000
NEAR = 0.95


@dataclass(frozen=True, kw_only=True)
class Interval:
    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Zero is outside."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A configuration, or the mean of several. `score`: mean ln(speed-up of what it ended with / best known)."""

    name: str
    n: int
    score: Interval
    difference: Interval
    """To the reference, on the same task and seed."""
    by_task: Interval
    """The same, with tasks drawn instead of pairs: what may be expected of a task that was not tried."""
    checkpoints: tuple[float, ...]
    median_steps: float
    reached: float
    failed: float


def best_known(values: Values) -> dict[str, float]:
    best: dict[str, float] = {}
    for (task, _), value in values.items():
        best[task] = max(value, best.get(task, 1.0))
    return best


def score_at(row: Row, step: int, values: Values, best: Mapping[str, float]) -> float:
    """0 at the best known. A campaign that ran out of proposals keeps its leader; without one the reference stays."""
    leader = row.leaders[min(step, len(row.leaders)) - 1] if row.leaders else ""
    return math.log((values[row.task, leader] if leader else 1.0) / best[row.task])


def steps_until_near(row: Row, values: Values, best: Mapping[str, float]) -> float:
    """Candidates until the leader's second measurement is within 5 % of the best known; infinite: never."""
    bar = math.log(NEAR)
    return next((k for k in range(1, len(row.leaders) + 1) if score_at(row, k, values, best) >= bar), math.inf)


def resampled(
    units: Mapping[Pair, float], rng: random.Random, *, tasks: bool = False, n: int = N_RESAMPLES
) -> Interval:
    """95 % percentile bootstrap of the mean over pairs; `tasks`: tasks are drawn first, then seeds within."""
    groups: dict[str, list[float]] = {}
    for (task, _), value in units.items():
        groups.setdefault(task, []).append(value)
    flat, each = list(units.values()), list(groups.values())
    means = []
    for _ in range(n):
        if tasks:
            means.append(
                statistics.fmean(statistics.fmean(rng.choices(g, k=len(g))) for g in rng.choices(each, k=len(each)))
            )
        else:
            means.append(statistics.fmean(rng.choices(flat, k=len(flat))))
    means.sort()
    return Interval(mean=statistics.fmean(flat), low=means[int(0.025 * n)], high=means[int(0.975 * n) - 1])


def paired(rows: Iterable[Row], score: Callable[[Row], float]) -> dict[Pair, float]:
    """Where a pair has several rows (several memories of one policy, say), their mean."""
    found: dict[Pair, list[float]] = {}
    for row in rows:
        found.setdefault((row.task, row.seed), []).append(score(row))
    return {pair: statistics.fmean(scores) for pair, scores in found.items()}


def summary(
    name: str,
    rows: Sequence[Row],
    reference: Sequence[Row],
    *,
    values: Values,
    points: Sequence[int],
    step: int = BUDGET,
) -> Summary:
    """`step`: after how many candidates the two are compared."""
    best = best_known(values)

    def end(row: Row) -> float:
        return score_at(row, step, values, best)

    mine, theirs = paired(rows, end), paired(reference, end)
    rng = random.Random(name)
    difference = {pair: mine[pair] - theirs[pair] for pair in mine if pair in theirs}
    steps = [steps_until_near(row, values, best) for row in rows]
    n_steps = sum(len(row.steps) for row in rows)
    return Summary(
        name=name,
        n=len(rows),
        score=resampled(mine, rng),
        difference=resampled(difference, rng),
        by_task=resampled(difference, rng, tasks=True),
        checkpoints=tuple(statistics.fmean(score_at(row, k, values, best) for row in rows) for k in points),
        median_steps=statistics.median_low(steps),
        reached=sum(s < math.inf for s in steps) / len(steps),
        failed=sum(row.n_failed for row in rows) / n_steps,
    )
