"""A Diagnosis: why a correct candidate is not faster, as a class with numbers."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from kernelevolve.model.value import Value


class Bottleneck(StrEnum):
    AT_FLOOR = "at_floor"  # at least 90 % of what the memory system allows
    MEMORY = "memory"
    COMPUTE = "compute"
    OVERHEAD = "overhead"  # call and thread start-up dominate
    IMBALANCE = "imbalance"  # one shape lags far behind the others
    PROCESSOR = "waiting_for_the_processor"  # other work held the cores while it was timed: nothing is known
    LATENCY = "latency"  # neither memory nor arithmetic is busy: the work waits
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """The finer class, for device code."""

    AT_ROOFLINE = "at_roofline"
    LAUNCH_BOUND = "launch_bound"
    SMALL_GRID = "small_grid"
    UNEVEN_CORES = "uneven_cores"
    SPILLS = "spills"
    EXCESS_TRAFFIC = "excess_traffic"
    DRAM_BOUND = "dram_bound"
    UNCOALESCED = "uncoalesced"
    L2_BOUND = "l2_bound"
    BANK_CONFLICTS = "bank_conflicts"
    L1_BOUND = "l1_bound"
    TENSOR_BOUND = "tensor_bound"
    TENSOR_UNUSED = "tensor_unused"
    OLD_MMA_PATH = "old_mma_path"
    ALU_BOUND = "alu_bound"
    MEMORY_LATENCY = "memory_latency"
    SYNCHRONISATION = "synchronisation"
    ASYNC_PIPELINE = "async_pipeline"
    SHARED_MEMORY_LATENCY = "shared_memory_latency"
    DEPENDENCY = "dependency"
    CODE_SIZE = "code_size"
    DIVERGENCE = "divergence"
    OCCUPANCY = "occupancy"
    NARROW_ACCESS = "narrow_access"


class Evidence(Value):
    """`threshold`: what the value was held against; None where it is shown for the reader only."""

    name: str
    value: float
    unit: str
    note: str = ""
    threshold: float | None = None
    source: str = Field(default="", description="who measured or counted it: judge, cubin, sass, ncu, cupti")


class Unknown(Value):
    """Something that was not found out, and why: never taken for 0."""

    what: str
    why: str


class Diagnosis(Value):
    """`cause` is the first rule that holds, `also` the others that hold too."""

    bottleneck: Bottleneck
    evidence: tuple[Evidence, ...] = ()
    advice: str = ""
    cause: Cause | None = None
    also: tuple[Cause, ...] = ()
    kernel: str = Field(default="", description="the kernel the counters are of, where a call has several")
    unknown: tuple[Unknown, ...] = ()
    scope: Literal["verdict", "static", "counters"] = Field(
        default="verdict", description="how deep was looked: times and bytes; the machine code; the device's counters"
    )
