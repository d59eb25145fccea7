"""How fast? Interleaved pairs, each on content that the candidate's process has never seen."""

from __future__ import annotations

import math
import random
import statistics
import time
from dataclasses import dataclass, field

from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.side import Side
from kernelevolve.evaluation.statistics import geometric_mean, interval
from kernelevolve.evaluation.stock import Feed
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Shape
from kernelevolve.model.verdict import Comparison, ShapeTiming


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Pairs per shape and restart: as many as fit into `budget_s`, within the bounds."""

    min_pairs: int
    max_pairs: int
    budget_s: float
    gives_up: bool = False


QUARANTINE = 0.03
N_SELF_PAIRS = 12
"""A machine on which a baseline differs from itself by more than this (ln), in so many pairs, proves nothing now."""
HOPELESS = 1.3
"""A screen stops early once the candidate has been this much slower in every pair."""
PLANS = {
    "screen": Plan(min_pairs=5, max_pairs=12, budget_s=0.2, gives_up=True),
    "confirm": Plan(min_pairs=15, max_pairs=40, budget_s=2.0),
    "sealed": Plan(min_pairs=11, max_pairs=31, budget_s=1.5),
}
RESTARTS = {"screen": 1, "confirm": 1, "sealed": 3}
"""Processes per claim: address layout and alignment differ from one to the next."""


@dataclass(kw_only=True)
class Samples:
    """Raw seconds of one shape: one list per restart, sides aligned by pair."""

    candidate: list[list[float]] = field(default_factory=list)
    baselines: dict[str, list[list[float]]] = field(default_factory=dict)


def collect(
    samples: Samples,
    candidate: Side,
    baselines: list[Side],
    feed: Feed,
    plan: Plan,
    rng: random.Random,
    timeout_s: float,
) -> None:
    """Add one restart's pairs to `samples`. Both sides of a pair get the same content. The order is drawn for every
    other pair and reversed for the next (ABBA), so that a drift hits both alike. Raises CandidateFault when a timed
    call's output is wrong."""
    candidate.calibrate(feed, timeout_s=timeout_s)
    mine: list[float] = []
    theirs: dict[str, list[float]] = {side.name: [] for side in baselines}
    order: list[Side] = []
    spent_s = 0.0
    n_draws = max(side.n_calls for side in [candidate, *baselines])
    while not _enough(mine, theirs, plan, spent_s):
        draws = feed.take(n_draws)
        started = time.monotonic()
        order = order[::-1] if len(mine) % 2 else rng.sample([candidate, *baselines], 1 + len(baselines))
        round_ = {
            side.name: side.sample(draws, rng, timeout_s=timeout_s if side is candidate else 60.0) for side in order
        }
        spent_s += time.monotonic() - started
        mine.append(round_.pop(candidate.name))
        for name, seconds in round_.items():
            theirs[name].append(seconds)
    samples.candidate.append(mine)
    for name, seconds_list in theirs.items():
        samples.baselines.setdefault(name, []).append(seconds_list)


def _enough(mine: list[float], theirs: dict[str, list[float]], plan: Plan, spent_s: float) -> bool:
    if len(mine) >= plan.max_pairs or _hopeless(mine, theirs, plan):
        return True
    return len(mine) >= plan.min_pairs and spent_s >= plan.budget_s


def _hopeless(mine: list[float], theirs: dict[str, list[float]], plan: Plan) -> bool:
    """A screen need not time to the end what has lost every pair by a wide margin."""
    if not plan.gives_up or len(mine) < 3:
        return False
    return all(min(m / t for m, t in zip(mine, times, strict=True)) > HOPELESS for times in theirs.values())


def self_difference(side: Side, feed: Feed, rng: random.Random) -> float:
    """A/A: the median ln-ratio of a baseline with itself, in the order and by the clock of a real comparison."""
    logs = []
    for index in range(N_SELF_PAIRS):
        draws = feed.take(side.n_calls)
        first, second = (side.sample(draws, rng, timeout_s=60.0) for _ in range(2))
        logs.append(math.log(first / second) * (1 if index % 2 else -1))
    return statistics.median(logs)


def pick_baselines(bench: Bench, shape: Shape, names: tuple[str, ...], level: str) -> list[Side]:
    """All of them for a claim; for a screen only the fastest, the one that is hard to beat."""
    if level == "screen":
        fastest = bench.fastest(names, shape, level)
        return [fastest] if fastest is not None else []
    return [side for name in names if (side := bench.baseline(name, shape, level)) is not None]


def shape_timing(
    shape: Shape, samples: Samples, facts: PlatformFacts, *, n_bytes: int, seed: int, alpha: float
) -> ShapeTiming:
    mine = [value for group in samples.candidate for value in group]
    comparisons = []
    for name, groups in samples.baselines.items():
        logs = [
            [math.log(theirs / ours) for theirs, ours in zip(group, own, strict=True)]
            for group, own in zip(groups, samples.candidate, strict=True)
        ]
        median, low, high = interval(logs, seed=seed, alpha=alpha)
        comparisons.append(
            Comparison(
                baseline=name,
                baseline_us=statistics.median(value for group in groups for value in group) * 1e6,
                candidate_us=statistics.median(mine) * 1e6,
                speedup=math.exp(median),
                low=math.exp(low),
                high=math.exp(high),
                log_ratios=tuple(round(value, 7) for group in logs for value in group),
            )  # fmt: skip
        )
    rate = _copy_rate(n_bytes, facts)
    return ShapeTiming(
        shape=shape, latency_us=statistics.median(mine) * 1e6, bytes_moved=n_bytes,
        floor_us=n_bytes / rate / 1e3 if rate else None, comparisons=tuple(comparisons),
    )  # fmt: skip


def combine(shapes: tuple[ShapeTiming, ...]) -> tuple[float, float, float]:
    """Geometric mean over shapes of the speed-up against each shape's best baseline, with an interval from the
    shapes' independent half-widths: root of the sum of squares over the number of shapes."""
    best = [timing.against_best for timing in shapes]
    centre = geometric_mean([math.log(item.speedup) for item in best])
    down = math.sqrt(sum(math.log(item.speedup / item.low) ** 2 for item in best)) / len(best)
    up = math.sqrt(sum(math.log(item.high / item.speedup) ** 2 for item in best)) / len(best)
    return centre, centre * math.exp(-down), centre * math.exp(up)


def _copy_rate(n_bytes: int, facts: PlatformFacts) -> float | None:
    """GB/s this amount of data can move at: cache speed when it fits the last-level cache."""
    if facts.l3_bytes and n_bytes <= facts.l3_bytes and facts.cached_copy_gb_per_s:
        return facts.cached_copy_gb_per_s
    return facts.copy_gb_per_s
