"""One function per class of bottleneck: the facts in, a finding with its numbers out, or None. Thresholds stand here.

Those of the counters are the profiler's own where it has one, so that both say the same; the others say why.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.model.diagnosis import Cause, Evidence

FLOOR_SHARE, HIGHEST_SHARE = 0.9, 1.25
"""At the floor from here; above the second the floor itself is wrong."""
KERNEL_SHARE, LAUNCH_US, SHORT_US = 0.7, 1.0, 10.0
"""Of a call, inside kernels; what a launch inside a graph costs; kernels under the last are short."""
ACTIVE_SHARE, UNEVEN = 0.8, 1.2
LOCAL_SHARE = 0.05
"""Of all executed instructions: below, spilling is in a corner and not what is waited for."""
EXCESS, EXCESS_TIME = 1.3, 0.1
"""Bytes beyond the counted ones, and the share of the time they must take: code and tables are fetched too."""
OF_COPY, SATURATED, DRAM_IDLE = 0.8, 80.0, 60.0
SECTOR_USE, L2_BUSY, L1_BUSY, L1_SOME, CONFLICTS = 50.0, 70.0, 70.0, 20.0, 0.10
TENSOR_BUSY, TENSOR_IDLE, TENSOR_SOME, GEMM_INTENSITY = 80.0, 5.0, 30.0, 20.0
"""The last: operations per counted byte from which on a task is matrix work."""
ISSUE_LOW, STALL_SHARE, FULL_THREADS, ELIGIBLE_LOW, OCCUPANCY_LOW, NARROW = 0.6, 0.3, 24.0, 1.0, 50.0, 0.5

_PEAK = ".avg.pct_of_peak_sustained_elapsed"
DURATION, DRAM, TENSOR = "gpu__time_duration.sum", f"dram__throughput{_PEAK}", f"sm__pipe_tensor_cycles_active{_PEAK}"
ISSUE, ELIGIBLE = "smsp__issue_active.avg.per_cycle_active", "smsp__warps_eligible.avg.per_cycle_active"
WARPS, INSTRUCTIONS = "sm__warps_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed.sum"
L1_PATH = f"l1tex__data_pipe_lsu_wavefronts{_PEAK}"
DRAM_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
GMMA, HMMA = "sm__inst_executed_pipe_tensor_op_gmma.sum", "sm__inst_executed_pipe_tensor_op_hmma.sum"
COPY_DRAM = "copy_dram_pct"
"""What a plain copy scored for DRAM in the same run: a kernel at its floor reads far below 100."""
_STALLS = {
    "long_scoreboard": Cause.MEMORY_LATENCY, "barrier": Cause.SYNCHRONISATION, "membar": Cause.SYNCHRONISATION,
    "gmma": Cause.ASYNC_PIPELINE, "short_scoreboard": Cause.SHARED_MEMORY_LATENCY,
    "mio_throttle": Cause.SHARED_MEMORY_LATENCY, "wait": Cause.DEPENDENCY, "math_pipe_throttle": Cause.DEPENDENCY,
    "no_instruction": Cause.CODE_SIZE, "lg_throttle": Cause.NARROW_ACCESS,
}  # fmt: skip
"""lg_throttle: the queue of global accesses is full, so each should move more."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    cause: Cause
    evidence: tuple[Evidence, ...]


def evidence_of(facts: Facts, *names: str) -> tuple[Evidence, ...]:
    """Those of these that are known."""
    return tuple(facts.evidence(name) for name in names if facts.has(name))


def stall(reason: str) -> str:
    """The counter of a reason for waiting."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def at_roofline(facts: Facts) -> Finding | None:
    for name in ("share_of_memory_floor", "share_of_compute_floor"):
        share = facts.get(name)
        if share is not None and FLOOR_SHARE <= share <= HIGHEST_SHARE:
            shown = (facts.evidence(name, threshold=FLOOR_SHARE), *evidence_of(facts, "counted_bytes", "copy_gb_per_s"))
            return Finding(cause=Cause.AT_ROOFLINE, evidence=shown)
    return None


def launch_bound(facts: Facts) -> Finding | None:
    latency, kernels_us, n_kernels = facts.get("latency_us"), facts.get("kernels_us"), facts.get("n_kernels")
    shown = evidence_of(facts, "n_kernels", "n_short_kernels")
    if latency and kernels_us is not None and kernels_us < KERNEL_SHARE * latency:
        value = Evidence(
            name="kernel_share", value=kernels_us / latency, unit="1", threshold=KERNEL_SHARE,
            source=facts.known["kernels_us"].source, note="of a call's time, inside kernels",
        )  # fmt: skip
        return Finding(cause=Cause.LAUNCH_BOUND, evidence=(value, *shown))
    if latency and n_kernels and LAUNCH_US * n_kernels > (1 - KERNEL_SHARE) * latency:
        value = Evidence(
            name="launch_us", value=LAUNCH_US * n_kernels, unit="us", threshold=(1 - KERNEL_SHARE) * latency,
            source="plan", note=f"{LAUNCH_US:g} us a launch",
        )  # fmt: skip
        return Finding(cause=Cause.LAUNCH_BOUND, evidence=(value, *shown))
    return None


def small_grid(facts: Facts) -> Finding | None:
    """Fewer than one wave alone is no fault: a persistent kernel starts one block a core on purpose."""
    waves = evidence_of(facts, "launch__waves_per_multiprocessor")
    if _fewer_blocks_than_cores(facts):
        cores = facts.get("n_cores")
        return Finding(cause=Cause.SMALL_GRID, evidence=(facts.evidence("grid_blocks", threshold=cores), *waves))
    active = facts.ratio("sm__cycles_active.avg", "sm__cycles_elapsed.avg")
    if active is not None and active < ACTIVE_SHARE:
        value = Evidence(name="active_share", value=active, unit="1", threshold=ACTIVE_SHARE, source="ncu")
        return Finding(cause=Cause.SMALL_GRID, evidence=(value, *waves))
    return None


def uneven_cores(facts: Facts) -> Finding | None:
    """Asked before idle cores are called a small grid, which they are only when no core works much longer."""
    spread = facts.ratio("sm__cycles_active.max", "sm__cycles_active.avg")
    if spread is None or spread <= UNEVEN or _fewer_blocks_than_cores(facts):
        return None
    value = Evidence(name="longest_to_average_core", value=spread, unit="x", threshold=UNEVEN, source="ncu")
    return Finding(cause=Cause.UNEVEN_CORES, evidence=(value,))


def _fewer_blocks_than_cores(facts: Facts) -> bool:
    blocks, cores = facts.get("grid_blocks"), facts.get("n_cores")
    return blocks is not None and cores is not None and blocks < cores


def spills(facts: Facts) -> Finding | None:
    """What the counters say decides; the code alone cannot tell a corner from the loop."""
    static = evidence_of(facts, "spill_bytes", "local_bytes", "local_instructions")
    executed = facts.total(f"smsp__sass_inst_executed_op_local_{kind}.sum" for kind in ("ld", "st"))
    total = facts.get(INSTRUCTIONS)
    if executed is not None and total:
        if executed / total <= LOCAL_SHARE:
            return None
        value = Evidence(
            name="local_instruction_share", value=executed / total, unit="1", threshold=LOCAL_SHARE, source="ncu"
        )
        return Finding(cause=Cause.SPILLS, evidence=(value, *static))
    looped, spilled = facts.get("looped_local_instructions"), facts.get("spill_bytes")
    if looped:
        return Finding(
            cause=Cause.SPILLS, evidence=(facts.evidence("looped_local_instructions", threshold=0.0), *static)
        )
    return Finding(cause=Cause.SPILLS, evidence=static) if spilled and looped is None else None


def excess_traffic(facts: Facts) -> Finding | None:
    moved, counted = facts.get("dram_bytes"), facts.get("counted_bytes")
    if moved is None or not counted or moved / counted <= EXCESS:
        return None
    rate, time = facts.get("copy_gb_per_s"), facts.get("latency_us") or facts.get("kernels_us")
    if rate and time and (moved - counted) / rate / 1e3 < EXCESS_TIME * time:
        return None
    value = Evidence(
        name="traffic_to_counted", value=moved / counted, unit="x", threshold=EXCESS, source="ncu",
        note="bytes over the memory's pins to bytes the operator needs",
    )  # fmt: skip
    return Finding(cause=Cause.EXCESS_TRAFFIC, evidence=(value, *evidence_of(facts, "dram_bytes", "counted_bytes")))


def dram_bound(facts: Facts) -> Finding | None:
    busy, copy = facts.get(DRAM), facts.get(COPY_DRAM)
    limit = OF_COPY * copy if copy else SATURATED
    if busy is None or busy < limit:
        return None
    return Finding(
        cause=Cause.DRAM_BOUND, evidence=(facts.evidence(DRAM, threshold=limit), *evidence_of(facts, COPY_DRAM))
    )


def uncoalesced(facts: Facts) -> Finding | None:
    names = [f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{kind}.pct" for kind in ("ld", "st")]
    low = [name for name in names if (use := facts.get(name)) is not None and 0.0 < use < SECTOR_USE]
    if not low:
        return None
    return Finding(cause=Cause.UNCOALESCED, evidence=tuple(facts.evidence(name, threshold=SECTOR_USE) for name in low))


def l2_bound(facts: Facts) -> Finding | None:
    name, dram = f"lts__t_sectors{_PEAK}", facts.get(DRAM)
    busy = facts.get(name)
    if busy is None or busy < L2_BUSY or dram is None or dram >= DRAM_IDLE:
        return None
    shown = (facts.evidence(name, threshold=L2_BUSY), facts.evidence(DRAM, threshold=DRAM_IDLE))
    return Finding(cause=Cause.L2_BOUND, evidence=(*shown, *evidence_of(facts, "lts__t_sector_hit_rate.pct")))


def bank_conflicts(facts: Facts) -> Finding | None:
    """The path to shared memory must be in use: where it is hardly touched, conflicts there cost nothing."""
    found = []
    busy = facts.get(L1_PATH)
    for kind in ("ld", "st") if busy is None or busy >= L1_SOME else ():
        conflicts = f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum"
        share = facts.ratio(conflicts, f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum")
        if share is not None and share > CONFLICTS:
            name = f"bank_conflict_share_{kind}"
            note = "of the wavefronts of shared memory"
            found.append(Evidence(name=name, value=share, unit="1", threshold=CONFLICTS, source="ncu", note=note))
    gmma = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma.sum"
    if facts.get(gmma):
        found.append(facts.evidence(gmma, threshold=0.0))
    return Finding(cause=Cause.BANK_CONFLICTS, evidence=tuple(found)) if found else None


def l1_bound(facts: Facts) -> Finding | None:
    return _busy(facts, Cause.L1_BOUND, L1_BUSY, L1_PATH)


def tensor_bound(facts: Facts) -> Finding | None:
    return _busy(facts, Cause.TENSOR_BOUND, TENSOR_BUSY, TENSOR)


def alu_bound(facts: Facts) -> Finding | None:
    pipes = (
        f"sm__pipe_fma_cycles_active{_PEAK}", f"sm__pipe_alu_cycles_active{_PEAK}", f"sm__inst_executed_pipe_xu{_PEAK}",
    )  # fmt: skip
    return _busy(facts, Cause.ALU_BOUND, SATURATED, *pipes)


def tensor_unused(facts: Facts) -> Finding | None:
    intensity, busy = facts.get("operations_per_byte"), facts.get(TENSOR)
    if intensity is None or intensity < GEMM_INTENSITY:
        return None
    shown = facts.evidence("operations_per_byte", threshold=GEMM_INTENSITY)
    if busy is not None and busy < TENSOR_IDLE:
        return Finding(cause=Cause.TENSOR_UNUSED, evidence=(facts.evidence(TENSOR, threshold=TENSOR_IDLE), shown))
    if busy is None and facts.get("matrix_instructions") == 0:
        return Finding(
            cause=Cause.TENSOR_UNUSED, evidence=(facts.evidence("matrix_instructions", threshold=0.0), shown)
        )
    return None


def old_mma_path(facts: Facts) -> Finding | None:
    """Only where there is a newer kind, and where matrix work is what the kernel does: a few of the old ones beside a
    memory-bound loop are fine."""
    if not facts.get("has_warpgroup_mma"):
        return None
    busy, intensity = facts.get(TENSOR), facts.get("operations_per_byte")
    heavy = (busy is not None and busy >= TENSOR_SOME) or (intensity is not None and intensity >= GEMM_INTENSITY)
    if not heavy:
        return None
    shown = evidence_of(facts, TENSOR, "operations_per_byte")
    if facts.get(GMMA) == 0 and (facts.get(HMMA) or 0) > 0:
        return Finding(cause=Cause.OLD_MMA_PATH, evidence=(facts.evidence(HMMA, threshold=0.0), *shown))
    if not facts.has(GMMA) and facts.get("newer_matrix_instructions") == 0 and facts.get("matrix_instructions"):
        return Finding(
            cause=Cause.OLD_MMA_PATH, evidence=(facts.evidence("matrix_instructions", threshold=0.0), *shown)
        )
    return None


def divergence(facts: Facts) -> Finding | None:
    name = "smsp__thread_inst_executed_per_inst_executed.ratio"
    threads = facts.get(name)
    if threads is None or threads >= FULL_THREADS:
        return None
    return Finding(cause=Cause.DIVERGENCE, evidence=(facts.evidence(name, threshold=FULL_THREADS),))


def waiting(facts: Facts) -> Finding | None:
    """The largest reason for waiting names the class, where few instructions are issued at all."""
    issue, latency = facts.get(ISSUE), facts.get(LATENCY)
    if issue is None or issue >= ISSUE_LOW or not latency:
        return None
    shares = {reason: value / latency for reason in _STALLS if (value := facts.get(stall(reason))) is not None}
    if not shares or max(shares.values()) <= STALL_SHARE:
        return None
    worst = max(shares, key=lambda reason: shares[reason])
    found = Evidence(
        name=f"waiting_share_{worst}", value=shares[worst], unit="1", threshold=STALL_SHARE, source="ncu",
        note="of a warp's time between two instructions",
    )  # fmt: skip
    return Finding(cause=_STALLS[worst], evidence=(found, facts.evidence(ISSUE, threshold=ISSUE_LOW)))


def occupancy(facts: Facts) -> Finding | None:
    """Low occupancy alone is no fault: pipelined matrix kernels run at one or two blocks a core."""
    warps, issue, eligible = facts.get(WARPS), facts.get(ISSUE), facts.get(ELIGIBLE)
    if warps is None or issue is None or eligible is None:
        return None
    if warps >= OCCUPANCY_LOW or issue >= ISSUE_LOW or eligible >= ELIGIBLE_LOW:
        return None
    limits = [f"launch__occupancy_limit_{what}" for what in ("registers", "shared_mem", "blocks", "warps")]
    known = [name for name in limits if facts.has(name)]
    limiter = (facts.evidence(min(known, key=lambda name: facts.known[name].value), note="the limit"),) if known else ()
    return Finding(
        cause=Cause.OCCUPANCY, evidence=(facts.evidence(WARPS, threshold=OCCUPANCY_LOW), *limiter),
    )  # fmt: skip


def narrow_access(facts: Facts) -> Finding | None:
    """Read off the code alone, so it only counts where memory matters and time is left to win."""
    narrow, share = facts.get("narrow_access_share"), facts.get("share_of_memory_floor")
    if narrow is None or narrow <= NARROW or share is None or not FLOOR_SHARE > share >= 0.25:
        return None
    return Finding(cause=Cause.NARROW_ACCESS, evidence=(facts.evidence("narrow_access_share", threshold=NARROW),))


def _busy(facts: Facts, cause: Cause, limit: float, *pipes: str) -> Finding | None:
    """The busiest of these, where it reaches the limit."""
    known = [name for name in pipes if facts.has(name)]
    if not known:
        return None
    worst = max(known, key=lambda name: facts.known[name].value)
    if facts.known[worst].value < limit:
        return None
    return Finding(cause=cause, evidence=(facts.evidence(worst, threshold=limit),))
