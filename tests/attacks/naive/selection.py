"""Careless ways to choose a winner from noisy timings: what each statistical attack must first succeed against."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

from kernelevolve.evaluation.stages.measure import Samples
from kernelevolve.selftest.campaigns import Noise, NoisyMachine


def flat(groups: list[list[float]]) -> list[float]:
    return [value for group in groups for value in group]


def ratio_of_means(samples: Samples) -> float:
    return statistics.mean(flat(samples.baselines["eager"])) / statistics.mean(flat(samples.candidate))


def min_over_mean(samples: Samples) -> float:
    """The candidate's best time against the baseline's average."""
    return statistics.mean(flat(samples.baselines["eager"])) / min(flat(samples.candidate))


def mean_of_ratios(samples: list[Samples]) -> float:
    """One number for all shapes: the average speed-up."""
    return statistics.mean(ratio_of_means(item) for item in samples)


def measured(noise: Noise, machine: NoisyMachine, n_pairs: int) -> list[Samples]:
    return [machine.pairs(speedup, 1, n_pairs) for speedup in noise.speedups]


def best_of_all(noise: Noise, rng: random.Random) -> bool:
    """Many candidates, one measurement each, the best number is published."""
    machine = NoisyMachine(noise, rng)
    best = max(mean_of_ratios(measured(noise, machine, 8)) for _ in range(noise.n_candidates))
    return best > 1.01


def favourable_statistic(noise: Noise, rng: random.Random) -> bool:
    machine = NoisyMachine(noise, rng)
    return max(min_over_mean(measured(noise, machine, 8)[0]) for _ in range(3)) > 1.01


def best_of_three(noise: Noise, rng: random.Random) -> bool:
    """Each side in its own block, every candidate gets three tries, the best one counts."""
    machine = NoisyMachine(noise, rng)
    best = 0.0
    for _ in range(3 * noise.n_candidates):
        mine = statistics.mean(flat(machine.pairs(noise.speedups[0], 1, 5).candidate))
        theirs = statistics.mean(flat(machine.pairs(noise.speedups[0], 1, 5).baselines["eager"]))
        best = max(best, theirs / mine)
    return best > 1.01


def anything_above_one(noise: Noise, rng: random.Random) -> bool:
    """A point estimate above 1 is a win."""
    machine = NoisyMachine(noise, rng)
    return max(mean_of_ratios(measured(noise, machine, 25)) for _ in range(noise.n_candidates)) > 1.0


def average_speedup(noise: Noise, rng: random.Random) -> bool:
    """One shape carries the average."""
    return mean_of_ratios(measured(noise, NoisyMachine(noise, rng), 25)) > 1.5


def until_it_wins(noise: Noise, rng: random.Random) -> bool:
    """The hidden shapes are asked again and again until the point estimate is above 1 by the wanted margin."""
    machine = NoisyMachine(noise, rng)
    return any(
        ratio_of_means(machine.pairs((noise.sealed_speedups or noise.speedups)[0], 1, 15)) > 1.005
        for _ in range(noise.n_candidates * noise.n_campaigns)
    )


CHOICES: dict[str, Callable[[Noise, random.Random], bool]] = {
    "best_of_all": best_of_all,
    "favourable_statistic": favourable_statistic,
    "best_of_three": best_of_three,
    "anything_above_one": anything_above_one,
    "average_speedup": average_speedup,
    "until_it_wins": until_it_wins,
}
