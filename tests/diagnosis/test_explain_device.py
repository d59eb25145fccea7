"""A verdict on device code explained from the judge's times, and from machine code where it is at hand."""

from __future__ import annotations

import pytest

from kernelevolve.diagnosis.explain import explain
from kernelevolve.model.diagnosis import Bottleneck, Cause, Diagnosis
from kernelevolve.model.kernel_facts import InstructionMix, KernelFacts
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.verdict import Outcome, ShapeTiming, Stage, Timing, Verdict

H200 = PlatformFacts(
    name="cuda", kind="cuda", n_cores=132, isa=("sm_90",), l2_bytes=60 * 2**20, copy_gb_per_s=4000.0,
    cached_copy_gb_per_s=8000.0,
)  # fmt: skip
BYTES = 40_000_000  # 10 us from memory, 5 us from the cache


def explained(*latencies_us: float, cold: bool = True, code: tuple[KernelFacts, ...] = ()) -> Diagnosis:
    shapes = tuple(
        ShapeTiming(shape={"N": number}, latency_us=latency, bytes_moved=BYTES, comparisons=())
        for number, latency in enumerate(latencies_us)
    )
    timing = Timing(level="screen", shapes=shapes, speedup=2.0, low=2.0, high=2.0)
    verdict = Verdict(
        task_id="t", candidate_id="c", outcome=Outcome.CORRECT, stage=Stage.MEASURE, n_checks=3, timing=timing
    )
    diagnosis = explain(verdict, H200, cold=cold, code=code)
    assert diagnosis is not None
    return diagnosis


def kernel(**mix: object) -> KernelFacts:
    return KernelFacts(name="k", architecture="sm_90", registers=40, mix=InstructionMix.model_validate(mix))


@pytest.mark.parametrize(
    ("expected", "bottleneck", "latencies"),
    [
        (Cause.AT_ROOFLINE, Bottleneck.AT_FLOOR, [10.5]),
        (Cause.AT_ROOFLINE, Bottleneck.AT_FLOOR, [10.5, 11.0]),
        (None, Bottleneck.MEMORY, [10.5, 14.0]),
        (None, Bottleneck.UNKNOWN, [60.0]),
        (None, Bottleneck.UNKNOWN, [5.0]),  # twice as fast as memory allows: the floor is wrong
    ],
)
def test_times_and_bytes(expected: Cause | None, bottleneck: Bottleneck, latencies: list[float]) -> None:
    diagnosis = explained(*latencies)
    assert (diagnosis.cause, diagnosis.bottleneck, diagnosis.scope) == (expected, bottleneck, "verdict")
    assert len([item for item in diagnosis.evidence if item.name == "share_of_memory_floor"]) == len(latencies)


def test_the_shape_that_loses_most_time_decides() -> None:
    diagnosis = explained(30.0, 10.2, 200.0)
    latency = next(item for item in diagnosis.evidence if item.name == "latency_us")
    assert (latency.value, latency.note) == (200.0, "N=2")


def test_a_warm_call_is_held_against_the_cache() -> None:
    assert explained(10.5, cold=False).bottleneck is Bottleneck.MEMORY
    assert explained(5.2, cold=False).cause is Cause.AT_ROOFLINE


def test_the_machine_code_says_more() -> None:
    narrow = kernel(opcodes={"LDG": 4}, load_bits={32: 4}, looped_load_bits={32: 4})
    spilling = kernel(opcodes={"LDL": 2, "LDG": 4}, looped={"LDL": 2}, load_bits={128: 4})
    assert explained(20.0, code=(narrow,)).cause is Cause.NARROW_ACCESS
    found = explained(20.0, code=(spilling,))
    assert (found.cause, found.scope) == (Cause.SPILLS, "static")
    assert explained(10.5, code=(spilling,)).cause is Cause.AT_ROOFLINE


def test_of_many_kernels_nobody_knows_which_one_counts() -> None:
    spilling = kernel(opcodes={"LDL": 2}, looped={"LDL": 2})
    assert explained(20.0, code=(spilling, spilling)).cause is None
    assert explained(6.0, code=(spilling, spilling), cold=False).cause is Cause.LAUNCH_BOUND
