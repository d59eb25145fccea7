"""cuTile: @ct.kernel functions over arrays and tiles, compiled ahead of time to Tile IR, then to ordinary PTX.

`args` names tensors and numbers; a tensor becomes pointer, sizes and strides, all 32 bits wide, which our plan then
passes one by one. A scratch is a one-dimensional array. `x:16` says that the rows of x are a multiple of 16 long, so
that wide loads can be used; other shapes are refused. The compiler says how many threads a block has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelevolve.model.launch import FILE_NAME, Argument, Launch, LaunchPlan
from kernelevolve.model.task import Task
from kernelevolve.toolchains import ptxas, tile_ptx
from kernelevolve.toolchains.dsl import DslToolchain, Emitted
from kernelevolve.toolchains.dsl_plan import Compiled, PlanError
from kernelevolve.toolchains.environments import Environment
from kernelevolve.toolchains.triton import read_ptx

_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}


class CutileToolchain(DslToolchain):
    language = "cutile"
    emitter = "cutile_emit.py"
    environment = "cutile"
    steps = (Path(ptxas.__file__), Path(tile_ptx.__file__), tile_ptx.SCRIPT)
    modules = frozenset({"cuda"})

    def plan_fault(self, plan: LaunchPlan, task: Task) -> str | None:
        self.prepared(plan, task)
        return super().plan_fault(plan, task)

    def prepared(self, plan: LaunchPlan, task: Task) -> tuple[LaunchPlan, list[dict[str, Any]]]:
        _, requests = super().prepared(plan, task)
        launches: list[Launch] = []
        for launch, request in zip(plan.launch, requests, strict=True):
            if launch.num_warps is not None or launch.num_stages is not None:
                raise PlanError(f"{FILE_NAME}: {launch.kernel}: num_warps and num_stages are the compiler's to say")
            flat: list[str] = []
            for item, asked in zip(launch.arguments, request["args"], strict=True):
                dims = dims_of(item, asked["dtype"], plan, task) if asked["pointer"] else ()
                pitch = next((spec.pitch for spec in task.pitched if spec.name == item.what), "")
                flat += flattened(item, dims, pitch) if asked["pointer"] else [_text(item)]
                asked |= {"ndim": len(dims), "row_multiple": item.multiple}
            launches.append(launch.model_copy(update={"args": tuple(flat)}))
        return plan.model_copy(update={"launch": tuple(launches)}), requests

    def finish(self, folder: Path, environment: Environment, emitted: Emitted, timeout_s: float) -> Compiled:
        kernel, site = emitted.request["kernel"], Path(environment.site)
        found = tile_ptx.to_ptx(
            site, emitted.blob, kernel, architecture=self.architecture, folder=folder, timeout_s=timeout_s
        )  # fmt: skip
        function, n_parameters, threads = read_ptx(found.text, kernel)
        wanted = sum(1 + 2 * item["ndim"] if item["pointer"] else 1 for item in emitted.request["args"])
        if n_parameters != wanted or not threads:
            raise ptxas.compile_fault(f"{kernel}: the machine code has {n_parameters} parameters, the plan {wanted}")
        cubin, messages = ptxas.assemble(
            site / ptxas.IN_PACKAGES, found.text, architecture=self.architecture, folder=folder, timeout_s=timeout_s
        )  # fmt: skip
        return Compiled(
            function=function, cubin=cubin, block=(str(threads), "1", "1"), shared_bytes=found.shared_bytes,
            messages=messages,
        )  # fmt: skip


def dims_of(item: Argument, dtype: str, plan: LaunchPlan, task: Task) -> tuple[str, ...]:
    for spec in (*task.inputs, *task.outputs):
        if spec.name == item.what:
            return spec.dims
    (scratch,) = (scratch for scratch in plan.scratch if scratch.name == item.what)
    return (f"({scratch.bytes})/{_BYTES.get(dtype, 1)}",)


def flattened(item: Argument, dims: tuple[str, ...], pitch: str = "") -> list[str]:
    """Pointer, sizes, strides; what is claimed of the length of rows holds for every stride too. Raises PlanError."""
    claim = f":{item.multiple}" if item.multiple > 1 else ""
    sizes = [f"{dim}:i32" for dim in dims]
    strides = ["*".join(f"({dim})" for dim in dims[axis + 1 :]) for axis in range(len(dims))]
    if pitch and len(dims) == 1:
        raise PlanError(f"{item.what}: elements that lie apart ({pitch}) are no array of this language")
    if pitch:
        strides[0] = pitch
    if dims:
        sizes[-1] += claim
        strides = [*(f"{stride}:i32{claim}" for stride in strides[:-1]), "1:i32"]
    return [item.what, *sizes, *strides]


def _text(item: Argument) -> str:
    return item.what + (f":{item.width}" if item.width else "") + (f":{item.multiple}" if item.multiple > 1 else "")
