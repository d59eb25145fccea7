"""Rules that reject honest host code for a GPU: what people forbid in Python that launches kernels.

Each looks at all files of a candidate. True = this rule would reject the candidate.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kernelevolve.model.candidate import Candidate

Rule = Callable[[Candidate], bool]


def source(candidate: Candidate) -> str:
    return "\n".join(file.text for file in candidate.files)


def word(pattern: str) -> Rule:
    """A rule that rejects wherever the pattern is found, comments and strings included."""
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda candidate: compiled.search(source(candidate)) is not None


HOST_RULES: dict[str, Rule] = {
    "compiler_words": word(r"torch\.compile\b"),
    "compiles_at_run_time": word(r"_compile_kernel|load_inline|RawKernel"),
    "host_round_trip": word(r"\.item\(\)|\.tolist\(\)"),
    "host_tuning": word(r"num_warps|num_stages"),
    "input_written": word(r"\b(state|x)\.\w+_\("),
    "library_calls": word(r"torch\.addcmul\("),
    "module_level_cache": word(r"^\w+ = (\{\}|dict\(\))"),
    "no_own_kernel": word(r"torch\.(mm|bmm|matmul)\("),
    "pinned_memory": word(r"pin_memory|non_blocking"),
    "replay_words": word(r"(?i)replay|CUDAGraph"),
    "several_files": lambda candidate: len(candidate.files) > 1,
    "stream_words": word(r"cuda\.Stream\("),
    "threading_ban": word(r"import threading|concurrent\.futures"),
}
