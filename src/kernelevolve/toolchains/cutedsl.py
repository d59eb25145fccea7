"""CuTe DSL: @cute.kernel functions of pointers and numbers, compiled ahead of time to PTX, then by NVIDIA's ptxas.

A kernel builds its tensors itself, from `cute.Pointer` and sizes: a tensor as a parameter would be a record of pointer,
sizes and strides. There is no host function, so no tensor map either (`make_tiled_tma_atom`); copies are cp.async,
bulk copies without a map, or plain loads. A block has 32*num_warps threads in one dimension; the compiler says how much
shared memory `SmemAllocator` handed out.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kernelevolve.toolchains import ptxas
from kernelevolve.toolchains.dsl import DslToolchain, Emitted
from kernelevolve.toolchains.dsl_plan import Compiled
from kernelevolve.toolchains.environments import Environment
from kernelevolve.toolchains.triton import read_ptx


class CuteDslToolchain(DslToolchain):
    language = "cutedsl"
    emitter = "cutedsl_emit.py"
    environment = "cutedsl"
    modules = frozenset({"cutlass"})
    steps = (Path(ptxas.__file__),)
    variables: ClassVar[dict[str, str]] = {"CUTE_DSL_DISABLE_FILE_CACHING": "1", "CUTE_DSL_LINEINFO": "1"}

    def finish(self, folder: Path, environment: Environment, emitted: Emitted, timeout_s: float) -> Compiled:
        kernel = emitted.request["kernel"]
        function, n_parameters, threads = read_ptx(emitted.blob, kernel)
        if n_parameters != len(emitted.request["args"]) or threads != emitted.facts.threads:
            raise ptxas.compile_fault(
                f"{kernel}: the machine code has {n_parameters} parameters and blocks of {threads} threads, the plan "
                f"{len(emitted.request['args'])} arguments and {emitted.facts.threads} threads"
            )
        cubin, messages = ptxas.assemble(
            Path(environment.site) / ptxas.IN_PACKAGES, emitted.blob, architecture=self.architecture, folder=folder,
            timeout_s=timeout_s,
        )  # fmt: skip
        return Compiled(
            function=function, cubin=cubin, block=(str(threads), "1", "1"), shared_bytes=emitted.facts.shared_bytes,
            messages=messages,
        )  # fmt: skip
