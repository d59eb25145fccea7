"""Rules that judges have used and that reject honest kernels. Ours uses none of them: behaviour decides.

RULES look at the source alone, DYNAMIC at what a run showed. Both: True = this rule would reject the candidate.
Every entry under tests/honest names the one that misfires on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import torch


def word(pattern: str) -> Callable[[str], bool]:
    """A rule that rejects wherever the pattern is found, comments and strings included."""
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda source: compiled.search(source) is not None


def no_kernel_launch(source: str) -> bool:
    """Neither a launch nor a loop: "no kernels recorded"."""
    return re.search(r"<<<|@triton|\bfor\b|\bwhile\b", source) is None


def recursion(source: str) -> bool:
    """A function whose name turns up again in its own body."""
    bodies = re.finditer(r"^\w[\w *]*?\b(\w+)\([^)]*\) \{\n(.*?)^\}", source, re.MULTILINE | re.DOTALL)
    return any(re.search(rf"\b{body[1]}\(", body[2]) for body in bodies)


RULES: dict[str, Callable[[str], bool]] = {
    "alloca_ban": word(r"\balloca\b"),
    "atomics_ban": word(r"std::atomic|omp atomic"),
    "big_stack_array": word(r"^ +(float|double) \w+\[(\d{5,}|\d+ \* 1024)\];"),
    "cache_words": word(r"(?i)\bcache"),
    "clock_words": word(r"synchronize|perf_counter|chrono|clock_gettime"),
    "constant_table": word(r"^static const(expr)? \w+ \w+\[\d*\] = "),
    "dynamic_dispatch": word(r"\bgetattr\("),
    "dynamic_execution": word(r"\b(exec|eval)\("),
    "early_exit": word(r"^ +if .*\bcontinue;"),
    "endless_loop_ban": word(r"while True|while \(true\)|for \(;;\)"),
    "environment_read": word(r"\bgetenv\b|os\.environ"),
    "fast_math": word(r"fast-math"),
    "forbidden_words": word(r"(?i)\b(cheat|hack|bypass|exploit)"),
    "frame_access": word(r"_getframe|inspect\."),
    "goto_ban": word(r"\bgoto\b"),
    "hardcoded_shapes": word(r"== \d{3,}\b"),
    "inline_assembly": word(r"\basm\b"),
    "interpreter_access": word(r"sys\.modules"),
    "intrinsics_ban": word(r"immintrin\.h|\b_mm\d*_"),
    "lambda_ban": word(r"\blambda\b|\[[&=\w]*\]\("),
    "layout_checks": word(r"is_contiguous|\.stride\("),
    "library_mutation": word(r"^torch(\.\w+)+ = "),
    "load_time_code": word(r"__attribute__\(\(constructor|^    ([A-Z]\w*)\(\) \{"),
    "module_level_cache": word(r"^[A-Z_]+ = (\{\}|\[\]|dict\(\))"),
    "module_reload": word(r"\bimportlib\b"),
    "nan_inf_constants": word(r"\bINFINITY\b|\bNAN\b|math\.(inf|nan)|float\(\"-?(inf|nan)"),
    "native_threads": word(r"std::j?thread|pthread_create"),
    "no_kernel_launch": no_kernel_launch,
    "opaque_constants": word(r"(?s)(0x1\.[0-9a-f]+p.*){6}"),
    "openmp_ban": word(r"#pragma omp"),
    "parallel_reduction": word(r"\breduction\("),
    "pass_ban": word(r"^\s*pass$"),
    "passthrough_copy": word(r"\bmemcpy\(|\.copy_\("),
    "precision_change": word(r"\bdouble\b|float64"),
    "precision_downgrade": word(r"bfloat16|float16|\.half\(\)|_Float16"),
    "random_ban": word(r"\brandom\b|\brand\("),
    "recursion_ban": recursion,
    "refusal_ban": word(r"\braise\b|return -?[1-9]"),
    "replay_words": word(r"(?i)replay|graph"),
    "silent_fallback": word(r"except[^\n]*:[^\n]*\n\s+.*torch\."),
    "skipped_work": word(r"^ +if .*\breturn 0;"),
    "static_storage": word(r"^\s*static (thread_local )?std::\w+<.*> \w+;"),
    "subprocess_word": word(r"subprocess"),
    "substring_stream": lambda source: "stream" in source.lower(),
    "suspicious_names": word(r"(?i)benchmark|grader|harness"),
    "thread_local_ban": word(r"\bthread_local\b"),
    "threading_ban": word(r"import threading|concurrent\.futures"),
    "try_ban": word(r"\btry\b\s*[:{]"),
    "tuning_words": word(r"num_stages|num_warps|BLOCK_[MN]"),
    "view_ban": word(r"\.view\(|as_strided"),
    "volatile_ban": word(r"\bvolatile (float|double)\b"),
    "weight_packing": word(r"\bpack(ed)?\b|preprocess"),
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One call as a judge could have watched it.

    `got`: what the candidate wrote; `again`: the same call with the inputs at other addresses. `oracle`: the float64
    answer; `reference`: the reference's own, in the task's dtype. `names`: the candidate's functions that ran.
    """

    got: torch.Tensor
    again: torch.Tensor
    oracle: torch.Tensor
    reference: torch.Tensor
    changed_inputs: bool
    names: frozenset[str]
    candidate_s: float
    reference_s: float

    @property
    def speedup(self) -> float:
        return self.reference_s / self.candidate_s

    @property
    def error(self) -> torch.Tensor:
        return (self.got.double() - self.oracle).abs()


def exceeds(error: torch.Tensor, allowed: torch.Tensor | float) -> bool:
    return bool((error > allowed).any())


DYNAMIC: dict[str, Callable[[list[Run]], bool]] = {
    # 1e-7 of the value is less than one rounding to float32
    "below_epsilon": lambda runs: any(exceeds(r.error, 1e-7 * r.oracle.abs()) for r in runs),
    # the reference in low precision, or in another order, taken for the truth
    "equals_reference": lambda runs: any(not torch.equal(r.got, r.reference) for r in runs),
    "finite_only": lambda runs: any(not bool(r.got.isfinite().all()) for r in runs),
    "fixed_atol": lambda runs: any(exceeds(r.error, 1e-5) for r in runs),
    "speedup_over_10x": lambda runs: any(r.speedup > 10 for r in runs),
    "speedup_over_100x": lambda runs: any(r.speedup > 100 for r in runs),
    "inputs_unchanged": lambda runs: any(r.changed_inputs for r in runs),
    "not_all_zero": lambda runs: any(not bool(r.got.any()) for r in runs),
    # no floor: where the terms cancel, rounding is larger than any share of the result
    "relative_only": lambda runs: any(exceeds(r.error, 1e-5 * r.oracle.abs()) for r in runs),
    "repeatable": lambda runs: any(not torch.equal(r.got, r.again) for r in runs),
    # the allowance computed from the candidate's answer instead of the oracle's
    "scaled_by_candidate": lambda runs: any(exceeds(r.error, 1e-5 * r.got.double().abs()) for r in runs),
    "steady_names": lambda runs: len({r.names for r in runs}) > 1,
    "steady_time": lambda runs: max(r.candidate_s for r in runs) > 3 * min(r.candidate_s for r in runs),
}
