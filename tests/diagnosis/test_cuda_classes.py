"""Golden cases of the classifier for device code: numbers in, the class out. Unknown is never 0."""

from __future__ import annotations

import pytest

from kernelevolve.diagnosis import cuda_rules as rules
from kernelevolve.diagnosis.cuda_advice import ADVICE
from kernelevolve.diagnosis.cuda_classes import BOTTLENECKS, Looked, classify
from kernelevolve.diagnosis.cuda_facts import floor_facts
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.model.diagnosis import Bottleneck, Cause, Diagnosis
from kernelevolve.model.platform import PlatformFacts

PEAK = ".avg.pct_of_peak_sustained_elapsed"
H200 = PlatformFacts(
    name="cuda", kind="cuda", n_cores=132, isa=("sm_90",), l2_bytes=60 * 2**20, copy_gb_per_s=4300.0,
    cached_copy_gb_per_s=7366.0,
)  # fmt: skip
NORM_BYTES = 2 * 8192 * 4096 * 2
"""bf16 in and out."""
CALM = {
    "sm__cycles_active.avg": 95.0, "sm__cycles_elapsed.avg": 100.0, "sm__cycles_active.max": 97.0,
    rules.ISSUE: 0.5, rules.LATENCY: 20.0, rules.DRAM: 40.0, rules.WARPS: 80.0, rules.ELIGIBLE: 2.0,
}  # fmt: skip
"""Half-way everywhere: no rule holds."""


def looked_at(values: dict[str, float | None], **more: float | None) -> Diagnosis:
    return classify(Facts.of("ncu", {**values, **more}), Looked(scope="counters"))


def test_the_norm_at_its_floor_is_done_though_the_profiler_sees_idle_units() -> None:
    """8192 x 4096 in bf16: 31.5 us of 31.2; DRAM at 71.8 % of its datasheet peak, multiprocessors at 31.5 %."""
    counters = Facts.of(
        "ncu", {rules.DRAM: 71.81, f"sm__throughput{PEAK}": 31.46, rules.WARPS: 50.70, rules.ISSUE: 0.3}
    )
    facts = floor_facts(n_bytes=NORM_BYTES, facts=H200, cold=True, latency_us=31.52).with_(counters)
    diagnosis = classify(facts, Looked(scope="counters"))
    assert diagnosis.cause is Cause.AT_ROOFLINE
    assert diagnosis.bottleneck is Bottleneck.AT_FLOOR
    assert diagnosis.also == ()
    first = diagnosis.evidence[0]
    assert (first.name, first.threshold, first.source) == ("share_of_memory_floor", 0.9, "judge")
    assert first.value == pytest.approx(0.99, abs=0.005)
    assert "stop" in diagnosis.advice


def test_nothing_stands_out() -> None:
    diagnosis = looked_at(CALM)
    assert diagnosis.cause is None
    assert diagnosis.bottleneck is Bottleneck.UNKNOWN


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        (Cause.AT_ROOFLINE, {"share_of_compute_floor": 0.93}),
        (Cause.LAUNCH_BOUND, {"latency_us": 50.0, "kernels_us": 34.0, "n_kernels": 5}),
        (Cause.LAUNCH_BOUND, {"latency_us": 8.0, "n_kernels": 3}),
        (Cause.SMALL_GRID, {"grid_blocks": 64, "n_cores": 132}),
        (Cause.SMALL_GRID, {"sm__cycles_active.avg": 79.0, "sm__cycles_active.max": 85.0}),
        (Cause.SMALL_GRID, {"sm__cycles_active.max": 900.0, "grid_blocks": 1, "n_cores": 132}),
        (Cause.UNEVEN_CORES, {"sm__cycles_active.max": 120.0}),
        (Cause.UNEVEN_CORES, {"sm__cycles_active.avg": 20.0, "grid_blocks": 528, "n_cores": 132}),
        (
            Cause.SPILLS,
            {"smsp__sass_inst_executed_op_local_ld.sum": 60.0, "smsp__sass_inst_executed_op_local_st.sum": 50.0,
             rules.INSTRUCTIONS: 1000.0},
        ),
        (Cause.SPILLS, {"looped_local_instructions": 4, "spill_bytes": 64}),
        (Cause.SPILLS, {"spill_bytes": 64}),
        (Cause.EXCESS_TRAFFIC, {"dram_bytes": 140.0, "counted_bytes": 100.0, rules.DRAM: 90.0}),
        (Cause.DRAM_BOUND, {rules.DRAM: 60.0, rules.COPY_DRAM: 72.0}),
        (Cause.DRAM_BOUND, {rules.DRAM: 80.0}),
        (Cause.UNCOALESCED, {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct": 12.5}),
        (Cause.L2_BOUND, {f"lts__t_sectors{PEAK}": 75.0}),
        (
            Cause.BANK_CONFLICTS,
            {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 30.0,
             "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 100.0},
        ),
        (Cause.BANK_CONFLICTS, {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma.sum": 7.0}),
        (Cause.L1_BOUND, {f"l1tex__data_pipe_lsu_wavefronts{PEAK}": 71.0}),
        (Cause.TENSOR_BOUND, {rules.TENSOR: 85.0, "has_warpgroup_mma": 1, rules.GMMA: 9.0, rules.HMMA: 0.0}),
        (Cause.TENSOR_UNUSED, {rules.TENSOR: 0.0, "operations_per_byte": 60.0}),
        (Cause.OLD_MMA_PATH, {rules.TENSOR: 45.0, "has_warpgroup_mma": 1, rules.GMMA: 0.0, rules.HMMA: 9.0}),
        (
            Cause.OLD_MMA_PATH,
            {"operations_per_byte": 60.0, "has_warpgroup_mma": 1, "matrix_instructions": 8,
             "newer_matrix_instructions": 0},
        ),
        (Cause.ALU_BOUND, {f"sm__pipe_fma_cycles_active{PEAK}": 30.0, f"sm__inst_executed_pipe_xu{PEAK}": 88.0}),
        (Cause.DIVERGENCE, {"smsp__thread_inst_executed_per_inst_executed.ratio": 12.0}),
        (Cause.MEMORY_LATENCY, {rules.stall("long_scoreboard"): 12.0, rules.stall("barrier"): 6.5}),
        (Cause.SYNCHRONISATION, {rules.stall("barrier"): 9.0}),
        (Cause.ASYNC_PIPELINE, {rules.stall("gmma"): 9.0}),
        (Cause.SHARED_MEMORY_LATENCY, {rules.stall("short_scoreboard"): 9.0}),
        (Cause.DEPENDENCY, {rules.stall("wait"): 7.0}),
        (Cause.CODE_SIZE, {rules.stall("no_instruction"): 7.0}),
        (Cause.NARROW_ACCESS, {rules.stall("lg_throttle"): 7.0}),
        (Cause.OCCUPANCY, {rules.WARPS: 20.0, rules.ELIGIBLE: 0.4, "launch__occupancy_limit_registers": 3.0}),
        (Cause.NARROW_ACCESS, {"narrow_access_share": 0.9, "share_of_memory_floor": 0.6}),
    ],
)  # fmt: skip
def test_golden(expected: Cause, values: dict[str, float | None]) -> None:
    diagnosis = looked_at(CALM, **values)
    assert diagnosis.cause is expected
    assert diagnosis.bottleneck is BOTTLENECKS[expected]
    assert diagnosis.advice == ADVICE[expected]
    assert any(item.threshold is not None or expected is Cause.SPILLS for item in diagnosis.evidence[:1])


@pytest.mark.parametrize(
    "values",
    [
        {"share_of_memory_floor": 0.89}, {"share_of_memory_floor": 1.3},
        {"latency_us": 50.0, "kernels_us": 36.0, "n_kernels": 1},
        {"grid_blocks": 132, "n_cores": 132, "launch__waves_per_multiprocessor": 0.5},  # a persistent kernel
        {"looped_local_instructions": 0, "spill_bytes": 64},
        {"smsp__sass_inst_executed_op_local_ld.sum": 5.0, "smsp__sass_inst_executed_op_local_st.sum": 5.0,
         rules.INSTRUCTIONS: 1000.0, "spill_bytes": 64},
        {"dram_bytes": 3e5, "counted_bytes": 1e5, "copy_gb_per_s": 4000.0, "kernels_us": 10.0},  # 0.05 us of them
        {f"l1tex__data_pipe_lsu_wavefronts{PEAK}": 5.0,
         "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 30.0,
         "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 100.0},
        {"dram_bytes": 140.0}, {rules.DRAM: 57.0, rules.COPY_DRAM: 72.0}, {rules.DRAM: 79.0},
        {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 30.0},
        {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 0.0,
         "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 0.0},
        {f"lts__t_sectors{PEAK}": 75.0, rules.DRAM: 61.0}, {rules.TENSOR: 0.0},
        {rules.TENSOR: 45.0, "has_warpgroup_mma": 0, rules.GMMA: 0.0, rules.HMMA: 9.0},
        {rules.TENSOR: 10.0, "has_warpgroup_mma": 1, rules.GMMA: 0.0, rules.HMMA: 9.0},  # a little beside much memory
        {rules.stall("long_scoreboard"): 12.0, rules.ISSUE: 0.7}, {rules.stall("long_scoreboard"): 5.0},
        {rules.WARPS: 20.0}, {"narrow_access_share": 0.9}, {"narrow_access_share": 0.9, "share_of_memory_floor": 0.1},
    ],
)  # fmt: skip
def test_these_are_no_faults(values: dict[str, float | None]) -> None:
    assert looked_at(CALM, **values).cause is None


@pytest.mark.parametrize("missing", list(CALM))
def test_a_missing_counter_makes_no_finding(missing: str) -> None:
    """Were it taken for 0, the grid would be small, the issue rate low and memory idle."""
    assert looked_at({**CALM, missing: None}).cause is None


def test_without_any_fact_nothing_is_claimed() -> None:
    diagnosis = classify(Facts())
    assert (diagnosis.cause, diagnosis.bottleneck, diagnosis.evidence) == (None, Bottleneck.UNKNOWN, ())


def test_what_holds_besides_is_told() -> None:
    diagnosis = looked_at(CALM, **{"dram_bytes": 150.0, "counted_bytes": 100.0, rules.DRAM: 85.0, "spill_bytes": 8})
    assert diagnosis.cause is Cause.SPILLS
    assert diagnosis.also == (Cause.EXCESS_TRAFFIC, Cause.DRAM_BOUND)


def test_every_cause_has_a_class_and_advice() -> None:
    assert set(BOTTLENECKS) == set(ADVICE) == set(Cause)


def test_a_cold_call_is_held_against_memory_even_where_its_bytes_would_fit() -> None:
    small = 10 * 2**20
    cold = floor_facts(n_bytes=small, facts=H200, cold=True, latency_us=10.0)
    warm = floor_facts(n_bytes=small, facts=H200, cold=False, latency_us=10.0)
    large = floor_facts(n_bytes=61 * 2**20, facts=H200, cold=False)
    assert (cold.get("copy_gb_per_s"), warm.get("copy_gb_per_s")) == (4300.0, 7366.0)
    assert large.get("copy_gb_per_s") == 4300.0  # the cache is there once, not once a core
    assert not large.has("share_of_memory_floor")


def test_an_unmeasured_device_has_no_floor() -> None:
    facts = floor_facts(n_bytes=100, facts=H200.model_copy(update={"copy_gb_per_s": None}), cold=True, latency_us=1.0)
    assert not facts.has("memory_floor_us")
    assert facts.get("counted_bytes") == 100


def test_old_records_are_still_read() -> None:
    old = '{"bottleneck":"memory","evidence":[{"name":"latency","value":1.5,"unit":"us","note":""}],"advice":"x"}'
    found = Diagnosis.from_json(old)
    assert (found.cause, found.evidence[0].threshold, found.unknown) == (None, None, ())
    assert Diagnosis.from_json(looked_at(CALM, spill_bytes=3).to_json()).cause is Cause.SPILLS
