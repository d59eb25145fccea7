"""The comparison itself: a machine that tells a kernel from itself is noticed, and one that is only noisy is not."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kernelevolve.evaluation.stages.measure import QUARANTINE, Samples, self_difference, shape_timing
from kernelevolve.model.platform import PlatformFacts


class Clock:
    """A side whose calls take what `seconds` says for the n-th of them."""

    n_calls = 1

    def __init__(self, seconds: Callable[[int], float]) -> None:
        self._seconds = seconds
        self._n = 0

    def slots(self, rng: random.Random) -> list[int]:
        return [0]

    def sample(self, draws: list[object], order: list[int], *, timeout_s: float) -> float:
        self._n += 1
        return self._seconds(self._n)


class Content:
    def take(self, count: int) -> list[object]:
        return [object()] * count


def difference(seconds: Callable[[int], float]) -> float:
    return abs(self_difference(Clock(seconds), Content(), random.Random(1)))  # type: ignore[arg-type]


def test_a_machine_that_changes_between_calls_is_quarantined() -> None:
    """Every other pair sees the fast machine first, the others the slow one: the sides are told apart."""
    assert difference(lambda n: 1.2 if n % 4 in (1, 0) else 1.0) > QUARANTINE


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_reason(seed: int) -> None:
    rng = random.Random(seed)
    assert difference(lambda _: rng.lognormvariate(0.0, 0.2)) == 0.0


def test_whichever_call_comes_first_does_not_matter() -> None:
    assert difference(lambda n: 1.1 if n % 2 else 1.0) <= QUARANTINE


def test_the_floor_of_a_cold_call_is_memorys() -> None:
    facts = PlatformFacts(
        name="gpu", kind="cuda", l2_bytes=2**26, copy_gb_per_s=4000.0, cached_copy_gb_per_s=7000.0
    )  # fmt: skip
    samples = Samples(candidate=[[1e-5] * 6], baselines={"eager": [[2e-5] * 6]})

    def floor_us(n_bytes: int, *, cold: bool) -> float | None:
        return shape_timing({"N": 1}, samples, facts, n_bytes=n_bytes, seed=1, alpha=0.05, cold=cold).floor_us

    assert floor_us(4_000_000, cold=True) == pytest.approx(1.0)
    assert floor_us(4_000_000, cold=False) == pytest.approx(4 / 7)
    assert floor_us(400_000_000, cold=False) == pytest.approx(100.0)
