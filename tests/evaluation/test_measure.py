"""The comparison itself: a machine that tells a kernel from itself is noticed, and one that is only noisy is not."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kernelevolve.evaluation.stages.measure import (
    N_LOOKS,
    QUARANTINE,
    RESTARTS,
    Plan,
    Samples,
    agree,
    collect,
    doubted_on,
    self_difference,
    shape_timing,
)
from kernelevolve.model.platform import PlatformFacts


class Clock:
    """A side whose calls take what `seconds` says for the n-th of them."""

    n_calls = n_wanted = 1
    n_draws = 2
    on_device = outside = False

    def __init__(self, seconds: Callable[[int], float], name: str = "side") -> None:
        self._seconds = seconds
        self.name = name
        self._n = 0

    @property
    def n_samples(self) -> int:
        return self._n

    def calibrate(self, feed: object, *, timeout_s: float) -> None:
        return

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


@pytest.mark.parametrize("n_shapes", [1, 2, 4, 5, 7, 22])
def test_every_process_and_every_shape_is_tried(n_shapes: int) -> None:
    shapes = [{"N": n} for n in range(n_shapes)]
    for level, n_restarts in RESTARTS.items():
        tried = [doubted_on(shapes, level, restart) for restart in range(n_restarts)]
        assert sum(map(len, tried)) == (0 if level == "screen" else max(n_shapes, n_restarts))
        if level != "screen":
            assert all(tried)
            assert all(shape in sum(tried, []) for shape in shapes)


def test_whichever_call_comes_first_does_not_matter() -> None:
    """PE33: both sides are measured in turns, each first as often as the other."""
    assert difference(lambda n: 1.1 if n % 2 else 1.0) <= QUARANTINE


class Woken(Clock):
    """A sample costs 100 us for being woken, and `call_s` for each call."""

    def __init__(self, name: str, call_s: float, n_wanted: int) -> None:
        super().__init__(lambda _: call_s + 1e-4 / self.n_calls, name)
        self.n_calls = self.n_wanted = n_wanted


@pytest.mark.parametrize("wanted", [(5, 3), (3, 5), (4, 4), (1, 2)])
def test_who_was_found_to_need_more_calls_a_sample_gains_nothing_by_it(wanted: tuple[int, int]) -> None:
    mine, theirs = Woken("mine", 160e-6, wanted[0]), Woken("eager", 160e-6, wanted[1])
    samples = Samples()
    plan = Plan(min_pairs=10, max_pairs=10, budget_s=0.0)
    collect(samples, mine, [theirs], Content(), plan, random.Random(1), 1.0)  # type: ignore[arg-type, list-item]
    assert samples.candidate == samples.baselines["eager"]


def test_sides_far_apart_keep_samples_of_one_length_and_no_number_stays_from_another_comparison() -> None:
    fast, slow, like = Woken("mine", 30e-6, 8), Woken("eager", 300e-6, 2), Woken("compile", 40e-6, 6)
    agree([fast, slow, like])  # type: ignore[list-item]
    assert [side.n_calls for side in (fast, slow, like)] == [8, 2, 8]
    agree([slow, like])  # type: ignore[list-item]
    assert [side.n_calls for side in (slow, like)] == [2, 6]


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


def test_a_baseline_far_behind_another_is_timed_a_few_times_and_still_compared() -> None:
    sides = {name: Clock(lambda _, seconds=seconds: seconds, name)  # type: ignore[misc]
             for name, seconds in {"mine": 1e-6, "eager": 2e-4, "compile": 2e-6, "vendor": 1.5e-5}.items()}  # fmt: skip
    plan = Plan(min_pairs=30, max_pairs=30, budget_s=0.0)
    samples = Samples()
    for _ in range(2):
        baselines = [sides["eager"], sides["compile"], sides["vendor"]]
        collect(samples, sides["mine"], baselines, Content(), plan, random.Random(1), 1.0)  # type: ignore[arg-type]
    assert sides["eager"].n_samples == N_LOOKS
    assert sides["vendor"].n_samples == sides["compile"].n_samples == 60
    timing = shape_timing({"N": 1}, samples, PlatformFacts(name="cpu", kind="cpu"), n_bytes=8, seed=1, alpha=0.05)
    found = {each.baseline: each for each in timing.comparisons}
    assert found["eager"].speedup == pytest.approx(200.0)
    assert len(found["eager"].log_ratios) == N_LOOKS
    assert timing.against_best.baseline == "compile"
