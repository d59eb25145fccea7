"""Facts that cost no profiler: floors from counted bytes, and what a kernel's machine code and launch say."""

from __future__ import annotations

from collections.abc import Mapping

from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.model.kernel_facts import TENSOR_MEMORY_MMA, WARP_MMA, WARPGROUP_MMA, KernelFacts
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.profile_job import ProfileLaunch

NEWER_MMA = ("sm_90", "sm_100", "sm_103")
"""Where matrix instructions of a warpgroup, or beyond, exist."""


def floor_facts(
    *, n_bytes: int, facts: PlatformFacts, cold: bool, latency_us: float | None = None,
    operations: float | None = None, operations_per_s: float | None = None,
) -> Facts:  # fmt: skip
    """The least time for the counted bytes at this device's measured copy rate, and for the operations where the task
    counts them. A device's last cache is shared by all its cores."""
    warm = not cold and facts.l2_bytes is not None and n_bytes <= facts.l2_bytes
    rate = (facts.cached_copy_gb_per_s if warm else facts.copy_gb_per_s) or None
    memory = n_bytes / rate / 1e3 if rate and n_bytes > 0 else None
    compute = operations / operations_per_s * 1e6 if operations and operations_per_s else None
    values = {
        "latency_us": latency_us, "counted_bytes": n_bytes or None, "copy_gb_per_s": rate, "memory_floor_us": memory,
        "compute_floor_us": compute, "n_cores": facts.n_cores,
        "operations_per_byte": operations / n_bytes if operations and n_bytes else None,
        "share_of_memory_floor": memory / latency_us if memory and latency_us else None,
        "share_of_compute_floor": compute / latency_us if compute and latency_us else None,
    }  # fmt: skip
    units = {
        "latency_us": "us", "counted_bytes": "B", "copy_gb_per_s": "GB/s", "memory_floor_us": "us",
        "compute_floor_us": "us", "share_of_memory_floor": "1", "share_of_compute_floor": "1",
        "operations_per_byte": "1/B",
    }  # fmt: skip
    return Facts.of("judge", values, units)


def code_facts(kernel: KernelFacts) -> Facts:
    """What the machine code of one kernel says. Without a disassembler its instructions are unknown."""
    values: dict[str, float | None] = {
        "registers": kernel.registers, "static_shared_bytes": kernel.static_shared_bytes,
        "local_bytes": kernel.local_bytes, "spill_bytes": kernel.spill_bytes, "code_bytes": kernel.code_bytes,
        "max_threads": kernel.max_threads,
    }  # fmt: skip
    units = {name: "B" for name in values if name.endswith("_bytes")}
    found = Facts.of("cubin", values, units)
    mix = kernel.mix
    if mix is None:
        return found.with_(Facts.missing("instruction mix", "no disassembler was found, or it could not read the code"))
    newer = mix.count(*WARPGROUP_MMA, *TENSOR_MEMORY_MMA)
    counted: dict[str, float | None] = {
        "instructions": mix.total, "local_instructions": mix.n_local,
        "looped_local_instructions": mix.looped.get("LDL", 0) + mix.looped.get("STL", 0),
        "narrow_access_share": mix.narrow_share, "matrix_instructions": newer + mix.count(*WARP_MMA),
        "newer_matrix_instructions": newer, "has_warpgroup_mma": float(kernel.architecture in NEWER_MMA),
    }  # fmt: skip
    return found.with_(Facts.of("sass", counted))


def launch_facts(launch: ProfileLaunch) -> Facts:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    values: Mapping[str, float | None] = {
        "grid_blocks": launch.n_blocks, "block_threads": threads, "dynamic_shared_bytes": launch.shared_bytes,
    }  # fmt: skip
    return Facts.of("plan", values, {"dynamic_shared_bytes": "B"})
