from __future__ import annotations

from itertools import cycle

from kernelevolve.evaluation.strangers import N_LOOKS, others_on_average, others_running


def test_the_average_is_over_several_looks() -> None:
    looks, pauses = cycle([0, 3]), list[float]()
    assert others_on_average(lambda: next(looks), pauses.append) == 1.5
    assert len(pauses) == N_LOOKS
    assert sum(pauses) < 1.0


def test_who_asks_is_not_counted_below_zero() -> None:
    assert others_running() >= 0
