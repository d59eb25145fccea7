"""Intervals: coverage where they promise it, and no better than they promise where nothing differs."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.evaluation.statistics import geometric_mean, interval, sign_interval, t_quantile


@pytest.mark.parametrize("n", [6, 11, 21, 40])
def test_sign_interval_covers_the_median_95_percent_of_the_time(n: int) -> None:
    rng = random.Random(n)
    hits = 0
    for _ in range(2000):
        low, high = sign_interval([rng.gauss(0.3, 1.0) for _ in range(n)])
        hits += low <= 0.3 <= high
    assert hits / 2000 >= 0.94


def test_sign_interval_narrows_with_more_pairs() -> None:
    rng = random.Random(1)
    few = sign_interval([rng.gauss(0, 1) for _ in range(10)])
    many = sign_interval([rng.gauss(0, 1) for _ in range(400)])
    assert many[1] - many[0] < (few[1] - few[0]) / 3


def test_equal_sides_are_called_different_in_at_most_5_percent() -> None:
    """PS40"""
    rng = random.Random(7)
    different = 0
    for trial in range(300):
        groups = [
            [rng.gauss(0, 0.01) + (rng.random() < 0.02) * rng.expovariate(10) for _ in range(11)] for _ in range(3)
        ]
        _, low, high = interval(groups, seed=trial)
        different += low > 0 or high < 0
    assert different / 300 <= 0.05


def test_a_restart_that_is_off_widens_the_interval() -> None:
    steady = interval([[0.5, 0.51, 0.49] * 4] * 3, seed=1)
    shifted = interval([[0.5, 0.51, 0.49] * 4] * 2 + [[0.1, 0.11, 0.09] * 4], seed=1)
    assert shifted[1] < 0.2 < steady[1]


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=60))
def test_interval_holds_the_median_and_is_ordered(values: list[float]) -> None:
    median, low, high = interval([values], seed=3)
    assert min(values) <= low <= median <= high <= max(values)


def test_geometric_mean() -> None:
    assert geometric_mean([math.log(2.0), math.log(8.0)]) == pytest.approx(4.0)


def test_students_quantiles_are_the_tabulated_ones() -> None:
    for p, df, wanted in ((0.975, 1, 12.7062), (0.975, 4, 2.77645), (0.995, 9, 3.24984), (0.9995, 4, 8.61030)):
        assert abs(t_quantile(p, df) - wanted) < 2e-3 * wanted


def test_processes_that_differ_are_covered() -> None:
    """Each process is off by 3 %, its pairs agree: without the interval over processes most claims would miss."""
    rng = random.Random(5)
    missed, missed_by_pairs = 0, 0
    n_trials = 200
    for trial in range(n_trials):
        groups = [[shift + rng.gauss(0, 0.005) for _ in range(15)] for shift in (rng.gauss(0, 0.03) for _ in range(5))]
        _, low, high = interval(groups, seed=trial)
        missed += not low <= 0 <= high
        low, high = sign_interval([value for group in groups for value in group])
        missed_by_pairs += not low <= 0 <= high
    assert missed <= 0.08 * n_trials
    assert missed_by_pairs > 0.2 * n_trials, "else this test shows nothing"


def test_a_smaller_alpha_gives_a_wider_interval() -> None:
    rng = random.Random(6)
    groups = [[rng.gauss(0.05, 0.05) for _ in range(20)] for _ in range(5)]
    widths = [high - low for alpha in (0.05, 0.0125, 0.002) for _, low, high in [interval(groups, seed=1, alpha=alpha)]]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]
