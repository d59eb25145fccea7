"""What would move each class of bottleneck, in a sentence for the proposer."""

from __future__ import annotations

from kernelevolve.model.diagnosis import Cause

ADVICE: dict[Cause, str] = {
    Cause.AT_ROOFLINE: (
        "The counted bytes or operations take that long on this machine: only an algorithm that moves or computes "
        "less can be faster, so stop here."
    ),
    Cause.LAUNCH_BOUND: "Starting kernels costs more than running them: fuse launches, or do more in each call.",
    Cause.SMALL_GRID: (
        "Too few blocks keep the device busy: split the work finer (also along the reduced axis) or give each "
        "block less."
    ),
    Cause.UNEVEN_CORES: (
        "Some multiprocessors work much longer than others: make blocks of equal work, or let them fetch work from"
        " a queue."
    ),
    Cause.SPILLS: (
        "Registers or arrays are kept in local memory: unroll less, keep fewer values alive, index arrays by "
        "constants only, or allow more registers with a smaller block."
    ),
    Cause.EXCESS_TRAFFIC: (
        "More bytes cross the memory's pins than the operator needs: read each byte once, keep what is used again "
        "in shared memory or registers, and write whole sectors."
    ),
    Cause.DRAM_BOUND: (
        "Memory is as busy as in a plain copy: fuse with a neighbour, use narrower types in between, or accept it."
    ),
    Cause.UNCOALESCED: (
        "Most bytes of a fetched sector are not used: let neighbouring threads touch neighbouring addresses, or go"
        " through shared memory."
    ),
    Cause.L2_BOUND: (
        "The second-level cache is busy while memory is not: reuse more within a block (larger tiles), or share "
        "loads across a cluster."
    ),
    Cause.BANK_CONFLICTS: "Threads of a warp meet in the same bank of shared memory: pad or swizzle its layout.",
    Cause.L1_BOUND: (
        "The path to shared memory and the first-level cache is full: use wider accesses, keep operands in "
        "registers, or feed matrix instructions from shared memory directly."
    ),
    Cause.TENSOR_BOUND: (
        "The matrix units are busy nearly all of the time: only a narrower type or fewer operations can be faster."
    ),
    Cause.TENSOR_UNUSED: "There is matrix work and the matrix units idle: use matrix instructions.",
    Cause.OLD_MMA_PATH: (
        "Matrix instructions of the older kind cannot reach this chip's rate: use the warpgroup's (wgmma), with "
        "operands brought to shared memory in bulk."
    ),
    Cause.ALU_BOUND: "An arithmetic pipe is full: use cheaper instructions, packed half precision, or tables.",
    Cause.MEMORY_LATENCY: (
        "Warps wait for global memory while nothing is saturated: keep more loads in flight (wider loads, several "
        "per thread, asynchronous copies ahead of use) or more warps resident."
    ),
    Cause.SYNCHRONISATION: (
        "Warps wait for each other: use fewer or smaller barriers, and warp-level exchange instead."
    ),
    Cause.ASYNC_PIPELINE: (
        "Warps wait for matrix instructions that are under way: use more stages, or let producer warps load ahead."
    ),
    Cause.SHARED_MEMORY_LATENCY: (
        "Warps wait for shared memory or special functions: batch accesses, and put independent work in between."
    ),
    Cause.DEPENDENCY: (
        "Instructions wait for the ones before them: more independent work per thread (unrolling, several "
        "accumulators)."
    ),
    Cause.CODE_SIZE: "Warps wait for instructions: unroll less, so that the loop fits the instruction cache.",
    Cause.DIVERGENCE: "Threads of a warp go different ways: sort or regroup the work, or use predication.",
    Cause.OCCUPANCY: (
        "Too few warps are resident to hide the waiting: use fewer registers or less shared memory a block."
    ),
    Cause.NARROW_ACCESS: "Most global accesses move less than 16 bytes a thread: load and store vectors.",
}
