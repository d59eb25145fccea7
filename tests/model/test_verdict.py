"""When a timing is a win: beyond what the clocks can tell, and on most shapes."""

from __future__ import annotations

import math

import pytest

from kernelevolve.model.verdict import Comparison, ShapeTiming, Timing


def timing(*lows: float, low: float | None = None) -> Timing:
    shapes = tuple(
        ShapeTiming(
            shape={"N": index}, latency_us=1.0, bytes_moved=1,
            comparisons=(
                Comparison(
                    baseline="eager", baseline_us=1.0, candidate_us=1.0, speedup=value * 1.02, low=value,
                    high=value * 1.04, log_ratios=(0.0,),
                ),
            ),
        )
        for index, value in enumerate(lows)
    )  # fmt: skip
    overall = math.exp(sum(map(math.log, lows)) / len(lows))
    return Timing(
        level="sealed", shapes=shapes, speedup=overall * 1.02, low=overall if low is None else low, high=overall * 1.04
    )


@pytest.mark.parametrize(
    ("lows", "wins"),
    [
        ((1.2,), True),
        ((1.005,), False),  # less than the clocks can tell
        ((0.99,), False),
        ((1.2, 1.3, 0.9), True),
        ((100.0, 0.9, 0.9, 0.9), False),  # one shape does not pay for the others
        ((100.0, 1.5, 0.9, 0.9), False),  # half is not most
    ],
)
def test_a_win_is_a_clear_one_on_most_shapes(lows: tuple[float, ...], wins: bool) -> None:
    assert timing(*lows).wins is wins
