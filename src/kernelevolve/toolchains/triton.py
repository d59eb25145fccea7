"""Triton: a module with @triton.jit kernels, compiled ahead of time: to PTX by Triton, then by the ptxas it brings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from kernelevolve.toolchains.dsl import DslToolchain, Emitted
from kernelevolve.toolchains.dsl_plan import MAX_THREADS, Compiled
from kernelevolve.toolchains.environments import Environment
from kernelevolve.toolchains.ptxas import assemble, compile_fault

PTXAS = Path("triton", "backends", "nvidia", "bin", "ptxas")
"""Below the folder of an environment's packages."""
MAX_HIDDEN = 2
"""Parameters the compiler adds after the kernel's own: memory per block, and memory for profiling."""
_ENTRY = re.compile(r"\.entry\s+([A-Za-z_$][\w$]*)\s*\(([^)]*)\)([^{]*)\{")
_THREADS = re.compile(r"\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_READS_FILES = re.compile(r"\.(incbin|include)\b")


class TritonToolchain(DslToolchain):
    language = "triton"
    emitter = "triton_emit.py"
    environment = "triton"
    modules = frozenset({"triton"})
    variables: ClassVar[dict[str, str]] = {"TRITON_DEFAULT_FP_FUSION": "1"}

    def finish(self, folder: Path, environment: Environment, emitted: Emitted, timeout_s: float) -> Compiled:
        kernel = emitted.request["kernel"]
        function, n_parameters, threads = read_ptx(emitted.blob, kernel)
        n_hidden = n_parameters - len(emitted.request["args"])
        if not 0 <= n_hidden <= MAX_HIDDEN or (emitted.facts.scratch_bytes and not n_hidden):
            raise compile_fault(f"{kernel}: the machine code has {n_parameters} parameters, the plan "
                         f"{len(emitted.request['args'])} arguments")  # fmt: skip
        ptxas = Path(environment.site) / PTXAS
        cubin, messages = assemble(
            ptxas, emitted.blob, architecture=self.architecture, folder=folder, timeout_s=timeout_s
        )
        scratch = emitted.facts.scratch_bytes
        return Compiled(
            function=function, cubin=cubin, block=(str(threads or emitted.facts.threads), "1", "1"),
            shared_bytes=emitted.facts.shared_bytes, scratch_bytes=scratch, messages=messages,
            hidden=(Compiled.SCRATCH if scratch else "0", "0")[:n_hidden],
        )  # fmt: skip


def read_ptx(ptx: bytes, kernel: str) -> tuple[str, int, int]:
    """(name of the one entry, number of its parameters, threads of a block or 0). Raises CompileFault."""
    text = ptx.decode(errors="replace")
    entries = _ENTRY.findall(text)
    if len(entries) != 1 or len(re.findall(r"\.entry\b", text)) != 1:
        raise compile_fault(f"{kernel}: one kernel was expected, {len(entries)} came back")
    if (directive := _READS_FILES.search(text)) is not None:
        raise compile_fault(f"{kernel}: assembler directive {directive[0]}")
    name, parameters, directives = entries[0]
    if (cluster := _CLUSTER.search(directives)) and {number or "1" for number in cluster.groups()} != {"1"}:
        raise compile_fault(f"{kernel}: clusters of blocks are not launched here")
    threads = 1
    if (match := _THREADS.search(directives)) is not None:
        for number in match.groups():
            threads = min(threads * int((number or "1")[:6]), 2 * MAX_THREADS)
        if not 1 <= threads <= MAX_THREADS:
            raise compile_fault(f"{kernel}: more than {MAX_THREADS} threads in a block")
    return name, parameters.count(".param"), threads if match is not None else 0
