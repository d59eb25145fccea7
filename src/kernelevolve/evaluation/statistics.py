"""Intervals for interleaved pairs. The unit is the log-ratio baseline/candidate of one pair."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from functools import cache

ALPHA = 0.05
"""How often an interval may miss the truth, both sides together."""
MIN_GROUPS = 3
MIN_PAIRS = 6
"""Below six pairs a sign test cannot exclude chance at 95 %."""


def sign_interval(values: Sequence[float], *, alpha: float = ALPHA) -> tuple[float, float]:
    """Distribution-free interval of the median: order statistics that cover it with at least 1 - `alpha`.
    With fewer than six values the whole range, which covers less; callers say so by their level."""
    ordered = sorted(values)
    n = len(ordered)
    tail, rank = 0.5**n, 0
    while rank < n // 2 and tail + math.comb(n, rank + 1) * 0.5**n <= alpha / 2:
        rank += 1
        tail += math.comb(n, rank) * 0.5**n
    return ordered[rank], ordered[n - 1 - rank]


def bootstrap_interval(
    groups: Sequence[Sequence[float]], *, seed: int, n_resamples: int = 600, alpha: float = ALPHA
) -> tuple[float, float]:
    """Hierarchical: restarts are drawn first, then pairs within each. Interval of the median."""
    rng = random.Random(seed)
    medians = []
    for _ in range(n_resamples):
        sample: list[float] = []
        for _ in groups:
            group = rng.choice(groups)
            sample += rng.choices(group, k=len(group))
        medians.append(statistics.median(sample))
    medians.sort()
    cut = int(n_resamples * alpha / 2)
    return medians[cut], medians[n_resamples - 1 - cut]


def interval(groups: Sequence[Sequence[float]], *, seed: int, alpha: float = ALPHA) -> tuple[float, float, float]:
    """(median, low, high) of the log-ratio over all groups, one group per process: the widest of the intervals.

    Processes differ by more than their pairs tell (where pages and page tables lie, for one), so with three or more of
    them Student's interval over their medians counts too: it knows how few they are.
    """
    values = [value for group in groups for value in group]
    sign_low, sign_high = sign_interval(values, alpha=alpha)
    boot_low, boot_high = bootstrap_interval(groups, seed=seed, alpha=alpha)
    lows, highs = [sign_low, boot_low], [sign_high, boot_high]
    if len(groups) >= MIN_GROUPS:
        medians = [statistics.median(group) for group in groups]
        half = t_quantile(1 - alpha / 2, len(groups) - 1) * statistics.stdev(medians) / math.sqrt(len(groups))
        lows.append(statistics.mean(medians) - half)
        highs.append(statistics.mean(medians) + half)
    return statistics.median(values), min(lows), max(highs)


@cache
def t_quantile(p: float, df: int) -> float:
    """Quantile of Student's t distribution for `p` above 0.5, by integrating its density (Simpson) and bisection."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)

    def below(t: float) -> float:
        n_steps = 400
        width = t / n_steps
        heights = [(1 + (i * width) ** 2 / df) ** (-(df + 1) / 2) for i in range(n_steps + 1)]
        inner = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
        return float(0.5 + scale * inner * width / 3)

    low, high = 0.0, 1.0
    while below(high) < p:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < p else (low, middle)
    return high


def geometric_mean(logs: Sequence[float]) -> float:
    return math.exp(sum(logs) / len(logs))
