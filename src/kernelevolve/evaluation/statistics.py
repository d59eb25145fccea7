"""Intervals for interleaved pairs. The unit is the log-ratio baseline/candidate of one pair."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

ALPHA = 0.05
"""How often an interval may miss the truth, both sides together."""
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
    """(median, low, high) of the log-ratio over all groups: the wider of the two intervals."""
    values = [value for group in groups for value in group]
    sign_low, sign_high = sign_interval(values, alpha=alpha)
    boot_low, boot_high = bootstrap_interval(groups, seed=seed, alpha=alpha)
    return statistics.median(values), min(sign_low, boot_low), max(sign_high, boot_high)


def geometric_mean(logs: Sequence[float]) -> float:
    return math.exp(sum(logs) / len(logs))
