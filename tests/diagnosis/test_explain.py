"""Golden cases: times and counted bytes in, the class out. The machine copies 40 GB/s, 200 GB/s within 32 MiB."""

from __future__ import annotations

import pytest

from kernelevolve.diagnosis.explain import about, explain
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.verdict import BUSY, Comparison, Outcome, ShapeTiming, Stage, StageReport, Timing, Verdict

FACTS = PlatformFacts(
    name="cpu", kind="cpu", n_cores=2, l2_bytes=2**20, l3_bytes=32 * 2**20,
    copy_gb_per_s=40.0, cached_copy_gb_per_s=200.0,
)  # fmt: skip
MEMORY_SET = 400_000_000  # floor 10 ms
CACHE_SET = 20_000_000  # floor 100 us


def shape(latency_us: float, n_bytes: int, *, speedup: float = 2.0, name: int = 1) -> ShapeTiming:
    comparison = Comparison(
        baseline="eager", baseline_us=latency_us * speedup, candidate_us=latency_us,
        speedup=speedup, low=speedup, high=speedup, log_ratios=(),
    )  # fmt: skip
    return ShapeTiming(shape={"N": name}, latency_us=latency_us, bytes_moved=n_bytes, comparisons=(comparison,))


def verdict(*shapes: ShapeTiming) -> Verdict:
    timing = Timing(level="screen", shapes=shapes, speedup=2.0, low=2.0, high=2.0)
    return Verdict(
        task_id="t", candidate_id="c", outcome=Outcome.CORRECT, stage=Stage.MEASURE, n_checks=3, timing=timing
    )


def diagnose(*shapes: ShapeTiming, facts: PlatformFacts = FACTS) -> Diagnosis:
    diagnosis = explain(verdict(*shapes), facts)
    assert diagnosis is not None
    return diagnosis


def values(diagnosis: Diagnosis, name: str) -> list[float]:
    return [item.value for item in diagnosis.evidence if item.name == name]


@pytest.mark.parametrize(
    ("expected", "shapes"),
    [
        (Bottleneck.AT_FLOOR, [shape(11_000, MEMORY_SET)]),
        (Bottleneck.AT_FLOOR, [shape(105, CACHE_SET)]),
        (Bottleneck.AT_FLOOR, [shape(9_000, MEMORY_SET)]),  # 1.11 of the floor: noise
        (Bottleneck.AT_FLOOR, [shape(10_200, MEMORY_SET), shape(101, CACHE_SET)]),
        (Bottleneck.AT_FLOOR, [shape(20, 4_000_000)]),  # short, yet all of it is copying
        (Bottleneck.MEMORY, [shape(11_200, MEMORY_SET)]),  # 0.893
        (Bottleneck.MEMORY, [shape(10_200, MEMORY_SET), shape(250, CACHE_SET)]),  # one at the floor is not all
        (Bottleneck.MEMORY, [shape(390, CACHE_SET)]),  # 0.256
        (Bottleneck.COMPUTE, [shape(410, CACHE_SET)]),  # 0.244
        (Bottleneck.COMPUTE, [shape(90_000, MEMORY_SET), shape(150, CACHE_SET)]),  # the long shape decides
        (Bottleneck.OVERHEAD, [shape(29.9, 65_536)]),
        (Bottleneck.OVERHEAD, [shape(3.0, 65_536, speedup=9.0), shape(12.0, 65_536)]),  # before imbalance
        (Bottleneck.COMPUTE, [shape(30.1, 65_536)]),
        (Bottleneck.IMBALANCE, [shape(250, CACHE_SET, speedup=4.1), shape(250, CACHE_SET, speedup=1.0, name=7)]),
        (Bottleneck.MEMORY, [shape(250, CACHE_SET, speedup=4.0), shape(250, CACHE_SET, speedup=1.0)]),
        (Bottleneck.UNKNOWN, [shape(7_000, MEMORY_SET)]),  # 1.43 of the floor: the floor is wrong
        (Bottleneck.MEMORY, [shape(7_000, MEMORY_SET), shape(250, CACHE_SET)]),  # judged on the floor that holds
    ],
)
def test_golden(expected: Bottleneck, shapes: list[ShapeTiming]) -> None:
    assert diagnose(*shapes).bottleneck is expected


def test_on_a_busy_machine_the_wait_for_a_core_comes_first() -> None:
    slow = verdict(shape(90_000, CACHE_SET))
    busy = StageReport(stage=Stage.MEASURE, seconds=1.0, note=f"{BUSY} 7.5")
    found = explain(slow.model_copy(update={"stages": (busy,)}), FACTS)
    assert found is not None
    assert found.bottleneck is Bottleneck.PROCESSOR
    assert found.advice.startswith("Waiting for the processor")
    assert "over 100x its memory floor" in found.advice
    close = verdict(shape(250, CACHE_SET)).model_copy(update={"stages": (busy,)})
    told = explain(close, FACTS)
    assert told is not None
    assert told.bottleneck is Bottleneck.MEMORY


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.26, "1.3x"),
        (0.456, "0.46x"),
        (47.4, "47x"),
        (99.7, "over 100x"),
        (100.0, "over 100x"),
        (4321.0, "over 1000x"),
    ],
)
def test_ratios_have_two_digits_and_large_ones_are_words(ratio: float, text: str) -> None:
    assert about(ratio) == text


def test_the_copy_rate_follows_the_working_set() -> None:
    just_fits, too_large = shape(1_000, 32 * 2**20), shape(1_000, 32 * 2**20 + 1)
    floors = values(diagnose(just_fits, too_large), "memory_floor")
    assert floors == pytest.approx([32 * 2**20 / 200e3, (32 * 2**20 + 1) / 40e3])


def test_without_a_last_level_the_private_caches_count() -> None:
    facts = FACTS.model_copy(update={"l3_bytes": None})
    fits, too_large = shape(1_000, 2 * 2**20), shape(1_000, 2 * 2**20 + 1)
    assert values(diagnose(fits, too_large, facts=facts), "memory_floor") == pytest.approx(
        [2 * 2**20 / 200e3, (2 * 2**20 + 1) / 40e3]
    )


@pytest.mark.parametrize(
    "missing",
    [
        {"copy_gb_per_s": None},
        {"copy_gb_per_s": 0.0},
        {"l2_bytes": None, "l3_bytes": None},
    ],
)
def test_unmeasured_is_unknown_and_never_zero(missing: dict[str, float | None]) -> None:
    diagnosis = diagnose(shape(11_000, MEMORY_SET), facts=FACTS.model_copy(update=missing))
    assert diagnosis.bottleneck is Bottleneck.UNKNOWN
    assert not values(diagnosis, "memory_floor")
    assert not values(diagnosis, "share_of_floor")
    assert values(diagnosis, "latency") == [11_000]


def test_a_missing_cache_rate_is_not_replaced_by_the_memory_rate() -> None:
    facts = FACTS.model_copy(update={"cached_copy_gb_per_s": None})
    assert diagnose(shape(500, CACHE_SET), facts=facts).bottleneck is Bottleneck.UNKNOWN


def test_one_shape_without_a_floor_is_not_at_the_floor() -> None:
    facts = FACTS.model_copy(update={"cached_copy_gb_per_s": None})
    assert diagnose(shape(10_200, MEMORY_SET), shape(101, CACHE_SET), facts=facts).bottleneck is Bottleneck.MEMORY


def test_imbalance_names_the_shapes_and_numbers() -> None:
    diagnosis = diagnose(shape(250, CACHE_SET, speedup=10.0, name=1), shape(250, CACHE_SET, speedup=2.0, name=7))
    assert values(diagnosis, "speedup_spread") == pytest.approx([5.0])
    assert "N=7 gains 2x" in diagnosis.advice
    assert len(values(diagnosis, "memory_floor")) == 2


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (9.0, 11.0, Bottleneck.IMBALANCE),
        (4.0, 24.0, Bottleneck.MEMORY),  # 6x wide, where the two shapes are 5x apart
        (0.0, 24.0, Bottleneck.MEMORY),
        (4.5, 22.0, Bottleneck.IMBALANCE),  # 4.9x
    ],
)
def test_what_noise_may_have_made_is_no_imbalance(low: float, high: float, expected: Bottleneck) -> None:
    fast = shape(250, CACHE_SET, speedup=10.0, name=1)
    measured = fast.comparisons[0].model_copy(update={"low": low, "high": high})
    fast = fast.model_copy(update={"comparisons": (measured,)})
    for shapes in ((fast, shape(250, CACHE_SET, speedup=2.0)), (shape(250, CACHE_SET, speedup=2.0), fast)):
        assert diagnose(*shapes).bottleneck is expected


def test_a_shape_without_a_baseline_is_no_imbalance() -> None:
    alone = shape(250, CACHE_SET, speedup=10.0).model_copy(update={"comparisons": ()})
    assert diagnose(alone, shape(250, CACHE_SET, speedup=1.0)).bottleneck is Bottleneck.MEMORY


def test_nothing_counted_has_no_floor() -> None:
    assert diagnose(shape(100, 0)).bottleneck is Bottleneck.UNKNOWN


def test_evidence_has_numbers_and_advice_is_one_sentence() -> None:
    diagnosis = diagnose(shape(250, CACHE_SET))
    assert values(diagnosis, "memory_floor") == pytest.approx([100.0])
    assert values(diagnosis, "share_of_floor") == pytest.approx([0.4])
    assert diagnosis.advice.endswith(".")
    assert ". " not in diagnosis.advice


def test_no_diagnosis_without_a_timing() -> None:
    wrong = Verdict(task_id="t", candidate_id="c", outcome=Outcome.WRONG, stage=Stage.CHECK)
    checked = Verdict(task_id="t", candidate_id="c", outcome=Outcome.CORRECT, stage=Stage.CHECK, n_checks=2)
    assert explain(wrong, FACTS) is None
    assert explain(checked, FACTS) is None
