"""Intervals: coverage where they promise it, and no better than they promise where nothing differs."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.evaluation.statistics import geometric_mean, interval, sign_interval


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
