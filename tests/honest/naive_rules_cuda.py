"""Rules that reject honest device code: what a static checker of GPU kernels might look for, and some do.

Each looks at all files of a candidate, launch.toml and flags included. True = this rule would reject the candidate.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.launch import FILE_NAME, LaunchPlan, read_plan

MANY_LAUNCHES = 8
STATIC_SHARED_LIMIT = 48 * 1024
Rule = Callable[[Candidate], bool]


def source(candidate: Candidate) -> str:
    return "\n".join(file.text for file in candidate.files if file.path != FILE_NAME)


def plan(candidate: Candidate) -> LaunchPlan:
    return read_plan(next(file.text for file in candidate.files if file.path == FILE_NAME))


def word(pattern: str) -> Rule:
    """A rule that rejects wherever the pattern is found, comments and strings included."""
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda candidate: compiled.search(source(candidate)) is not None


def fixed_grid(candidate: Candidate) -> bool:
    """A grid that no size of the task appears in: "does not scale with its input"."""
    return any(all(size.isdigit() for size in launch.grid) and launch.grid != ("1", "1", "1")
               for launch in plan(candidate).launch)  # fmt: skip


def reads_twice(candidate: Candidate) -> bool:
    """An element that is read at two places: "more traffic than the operator needs"."""
    return len(re.findall(r"\bx\[row \+ c\]", source(candidate))) >= 2


def recursion(candidate: Candidate) -> bool:
    """A device function whose name turns up again in its own body."""
    bodies = re.finditer(r"^__device__[\w *]*?\b(\w+)\([^)]*\) \{\n(.*?)^\}", source(candidate), re.M | re.S)
    return any(re.search(rf"\b{body[1]}\(", body[2]) for body in bodies)


def shared_over_48k(candidate: Candidate) -> bool:
    return any(item.shared_bytes.isdigit() and int(item.shared_bytes) > STATIC_SHARED_LIMIT
               for item in plan(candidate).launch)  # fmt: skip


CUDA_RULES: dict[str, Rule] = {
    "cluster_ban": word(r"__cluster_dims__|barrier\.cluster"),
    "device_statics": word(r"^__device__ \w+ \w+\[.*\];"),
    "fixed_grid": fixed_grid,
    "gpu_async_ban": word(r"\bcp\.async\.ca"),
    "gpu_atomics_ban": word(r"\batomicAdd\("),
    "gpu_bulk_copies": word(r"cp\.async\.bulk|mbarrier"),
    "gpu_constant_table": word(r"^__constant__ \w+ \w+\[\d+\] = "),
    "gpu_early_return": word(r"^ +if \(i >= .*\) return;"),
    "gpu_fast_math": word(r"__expf|__fdividef|__logf"),
    "gpu_flags": lambda candidate: bool(candidate.flags),
    "gpu_input_written": word(r"^ +state\[[^\]]+\] = "),
    "gpu_nan_inf_constants": word(r"0x7f[8cf]0*|0xff80*|\bINFINITY\b|\bNAN\b"),
    "gpu_recursion": recursion,
    "gpu_tile_sizes": word(r"\bTILE = \d+"),
    "gpu_words": word(r"(?i)stream|cache|replay|benchmark"),
    "inline_assembly": word(r"\basm\b"),
    "launch_bounds_ban": word(r"__launch_bounds__"),
    "many_launches": lambda candidate: len(plan(candidate).launch) > MANY_LAUNCHES,
    "narrow_sizes": word(r"\bint R\b"),
    "noinline_ban": word(r"__noinline__"),
    "pointer_casts_ban": word(r"reinterpret_cast<"),
    "pragma_ban": word(r"^#pragma"),
    "printf_ban": word(r"\bprintf\("),
    "reads_twice": reads_twice,
    "scratch_ban": lambda candidate: bool(plan(candidate).scratch),
    "several_files": lambda candidate: len(candidate.files) > 2,
    "shape_branch": word(r"^ +if \(C (<=|>) \d+"),
    "shared_over_48k": shared_over_48k,
    "spin_wait": word(r"__nanosleep"),
    "template_ban": word(r"^template <"),
    "ticket_counter": word(r"= atomicAdd\("),
    "warp_intrinsics_ban": word(r"__shfl\w*_sync"),
    "triton_atomics": word(r"tl\.atomic_"),
    "triton_fallback_words": word(r"(?i)torch|eager"),
    "triton_inline_assembly": word(r"inline_asm_elementwise"),
    "triton_loops": word(r"^ +(for|while) "),
    "triton_tuning": lambda candidate: any(item.num_warps is not None for item in plan(candidate).launch),
}
