"""Facts about a device kernel in, the class of its bottleneck out, with the numbers and what would move it. Pure.

Counted bytes come first: they decide whether anything is left to win. Then what the launch and the machine code say,
then the device's counters, which say why. The first rule that holds is the cause; the others that hold are told too. A
rule whose facts are unknown does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernelevolve.diagnosis import cuda_rules
from kernelevolve.diagnosis.cuda_advice import ADVICE
from kernelevolve.diagnosis.cuda_rules import evidence_of
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.model.diagnosis import Bottleneck, Cause, Diagnosis, Evidence

MEMORY_SHARE = 0.25
"""From this share of the memory floor on it is worth looking at how memory is accessed, whatever else."""
STALL_CLOSURE = 0.1
"""All reasons for waiting must add up to the whole within this, or some are missing."""

BOTTLENECKS: dict[Cause, Bottleneck] = {
    Cause.AT_ROOFLINE: Bottleneck.AT_FLOOR,
    **dict.fromkeys((Cause.LAUNCH_BOUND, Cause.SMALL_GRID), Bottleneck.OVERHEAD),
    **dict.fromkeys(
        (Cause.SPILLS, Cause.EXCESS_TRAFFIC, Cause.DRAM_BOUND, Cause.UNCOALESCED, Cause.L2_BOUND, Cause.BANK_CONFLICTS,
         Cause.L1_BOUND, Cause.NARROW_ACCESS),
        Bottleneck.MEMORY,
    ),
    **dict.fromkeys(
        (Cause.TENSOR_BOUND, Cause.TENSOR_UNUSED, Cause.OLD_MMA_PATH, Cause.ALU_BOUND), Bottleneck.COMPUTE
    ),
    **dict.fromkeys(
        (Cause.UNEVEN_CORES, Cause.MEMORY_LATENCY, Cause.SYNCHRONISATION, Cause.ASYNC_PIPELINE,
         Cause.SHARED_MEMORY_LATENCY, Cause.DEPENDENCY, Cause.CODE_SIZE, Cause.DIVERGENCE, Cause.OCCUPANCY),
        Bottleneck.LATENCY,
    ),
}  # fmt: skip

ORDER = (
    cuda_rules.at_roofline, cuda_rules.launch_bound, cuda_rules.uneven_cores, cuda_rules.small_grid, cuda_rules.spills,
    cuda_rules.excess_traffic, cuda_rules.dram_bound, cuda_rules.uncoalesced, cuda_rules.l2_bound,
    cuda_rules.bank_conflicts, cuda_rules.l1_bound, cuda_rules.old_mma_path, cuda_rules.tensor_bound,
    cuda_rules.tensor_unused, cuda_rules.alu_bound, cuda_rules.divergence, cuda_rules.waiting, cuda_rules.occupancy,
    cuda_rules.narrow_access,
)  # fmt: skip
Scope = Literal["verdict", "static", "counters"]


@dataclass(frozen=True, kw_only=True)
class Looked:
    """How deep, and at which kernel of a call."""

    scope: Scope = "verdict"
    kernel: str = ""


def classify(facts: Facts, looked: Looked = Looked()) -> Diagnosis:
    findings = [finding for rule in ORDER if (finding := rule(facts)) is not None]
    shown = _always_shown(facts)
    if not findings:
        return _undecided(facts, shown, looked)
    first, others = findings[0], findings[1:]
    stop = first.cause is Cause.AT_ROOFLINE
    named = {item.name for item in first.evidence}
    return Diagnosis(
        bottleneck=BOTTLENECKS[first.cause], cause=first.cause, advice=ADVICE[first.cause],
        also=() if stop else tuple(dict.fromkeys(item.cause for item in others if item.cause is not first.cause)),
        evidence=(
            *first.evidence, *(item for item in shown if item.name not in named),
            *(item for other in ([] if stop else others) for item in other.evidence if item.name not in named),
        ),
        kernel=looked.kernel, unknown=facts.unknown, scope=looked.scope,
    )  # fmt: skip


def _undecided(facts: Facts, shown: tuple[Evidence, ...], looked: Looked) -> Diagnosis:
    """No rule holds. Times and bytes alone still tell memory from the rest."""
    share = facts.get("share_of_memory_floor")
    bottleneck = Bottleneck.UNKNOWN
    if share is not None and MEMORY_SHARE <= share <= cuda_rules.HIGHEST_SHARE:
        bottleneck = Bottleneck.MEMORY
    seen = looked.scope == "counters"
    advice = (
        "No unit is saturated and no single reason for waiting stands out: look at the algorithm."
        if seen
        else "Times and code alone do not say why: profile it (kernelevolve profile)."
    )
    return Diagnosis(
        bottleneck=bottleneck, advice=advice, evidence=shown, kernel=looked.kernel, unknown=facts.unknown,
        scope=looked.scope,
    )  # fmt: skip


def _always_shown(facts: Facts) -> tuple[Evidence, ...]:
    names = ("latency_us", "kernels_us", "memory_floor_us", "share_of_memory_floor", "compute_floor_us")
    return evidence_of(facts, *names)


def stall_gap(facts: Facts, reasons: tuple[str, ...], total: str) -> str | None:
    """Why the stalls cannot be trusted; None when they add up or when not all of them were asked for."""
    added, whole = facts.total(reasons), facts.get(total)
    if added is None or not whole or abs(added - whole) <= STALL_CLOSURE * whole:
        return None
    return f"the reasons for waiting add up to {added:.2f} of {whole:.2f} cycles: some are not counted on this chip"
