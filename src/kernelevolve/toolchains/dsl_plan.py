"""From a plan with constants to a plan in which nothing is open: what a compiler is asked for, and what it fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, ValidationError

from kernelevolve.model.launch import FILE_NAME, MAX_CHARACTERS, Argument, Launch, LaunchPlan, evaluate
from kernelevolve.model.task import FLOAT_DTYPES, Task
from kernelevolve.model.value import Value, explain
from kernelevolve.model.verdict import CompileMessage
from kernelevolve.toolchains.abi import is_scalar
from kernelevolve.toolchains.device_artifact import DeviceBuilt, DeviceKernel, sha256

MAX_THREADS = 1024
MAX_SHARED_BYTES = 232448
"""Of one block, on what is compiled for."""
DEFAULT_WARPS, DEFAULT_STAGES = 4, 3
OWN_SCRATCH = "ke_scratch_"
"""How the names of the scratch that compilers ask for begin; nobody else's may."""
_ELEMENTS = {"f32": "float32", "i32": "int32", "i64": "int64"}


class PlanError(Exception):
    """One line: launch.toml asks for what cannot be compiled."""


class Facts(Value):
    """What a compiler says of a kernel, checked. `function`: where it is not read off the code itself."""

    function: str = Field(default="", max_length=4096, pattern=r"^[A-Za-z0-9_.$]*$")
    threads: int = Field(default=1, ge=1, le=MAX_THREADS, strict=True)
    shared_bytes: int = Field(default=0, ge=0, le=MAX_SHARED_BYTES, strict=True)
    scratch_bytes: int = Field(default=0, ge=0, le=2**30, strict=True)


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """One kernel with its constants, ready to load. `hidden`: further arguments after the plan's, "0" or an expression;
    `SCRATCH` stands for memory of `scratch_bytes` per block that the plan then gets."""

    SCRATCH: ClassVar[str] = "@scratch"

    function: str
    cubin: bytes
    block: tuple[str, str, str]
    shared_bytes: int
    hidden: tuple[str, ...] = ()
    scratch_bytes: int = 0
    messages: tuple[CompileMessage, ...] = ()


def launch_request(launch: Launch, plan: LaunchPlan, task: Task) -> dict[str, Any]:
    """What the compiler must know of one launch: no size of any shape is in it. Raises PlanError."""
    constants = plan.known_sizes({})
    named = [item.name for item in plan.scratch] + [item.name for item in plan.constant]
    if any(name.startswith(OWN_SCRATCH) for name in [*named, *(item.what for item in launch.arguments)]):
        raise PlanError(f"{FILE_NAME}: {launch.kernel}: names that begin with {OWN_SCRATCH} are the compiler's")
    try:
        known = {name: evaluate(text, constants) for name, text in launch.compile_time.items()}
    except ValueError as error:
        raise PlanError(f"{FILE_NAME}: {launch.kernel}: {error}") from None
    fixed = {name: known[name] for name in launch.constexprs}
    return {
        "kernel": launch.kernel, "constexprs": fixed,
        "num_warps": known["num_warps"] if launch.num_warps is not None else DEFAULT_WARPS,
        "num_stages": known["num_stages"] if launch.num_stages is not None else DEFAULT_STAGES,
        "args": [_argument(item, launch, plan, task) for item in launch.arguments],
    }  # fmt: skip


def _argument(item: Argument, launch: Launch, plan: LaunchPlan, task: Task) -> dict[str, Any]:
    """A tensor has its dtype. A scratch has that of the task, or the one that is written after it."""
    where = f"{FILE_NAME}: {launch.kernel}: '{item.what}'"
    spec = next((spec for spec in (*task.inputs, *task.outputs) if spec.name == item.what), None)
    if spec is not None and not is_scalar(spec):
        if item.width:
            raise PlanError(f"{where} is a tensor of {spec.dtype}; it takes no :{item.width}")
        return {"name": item.what, "pointer": True, "dtype": spec.dtype, "width": "", "multiple": 16}
    if item.what in {scratch.name for scratch in plan.scratch}:
        dtype = _ELEMENTS[item.width] if item.width else task.dtype
        return {"name": item.what, "pointer": True, "dtype": dtype, "width": "", "multiple": 16}
    real = spec is not None and spec.dtype in FLOAT_DTYPES
    width = item.width or ("f32" if real else "i64")
    if real is not (width == "f32"):
        kind = "a real number: f32" if real else "a whole number: i32 or i64"
        raise PlanError(f"{where} is {kind}, not {width}")
    return {"name": item.what, "pointer": False, "dtype": "", "width": width, "multiple": item.multiple}


def resolved_plan(
    plan: LaunchPlan, compiled: Sequence[Compiled], architecture: str, compiler: str,
    messages: tuple[CompileMessage, ...],
) -> DeviceBuilt:  # fmt: skip
    """One `compiled` per launch. Every launch of another kernel or other constants gets a name of its own. Raises
    PlanError."""
    names: dict[str, str] = {}
    kernels: dict[str, DeviceKernel] = {}
    launches: list[dict[str, Any]] = []
    scratch = [item.model_dump() for item in plan.scratch]
    for launch, item in zip(plan.launch, compiled, strict=True):
        digest = sha256(item.cubin)
        one = f"{launch.kernel} {digest} {item.function}"
        if one not in names:
            n_before = sum(name.partition("<")[0] == launch.kernel for name in kernels)
            names[one] = f"{launch.kernel}<{n_before + 1}>"
            kernels[names[one]] = DeviceKernel(function=item.function, cubin_sha256=digest)
        more = ""
        if item.scratch_bytes:
            more = f"{OWN_SCRATCH}{len(launches) + 1}"
            scratch.append({"name": more, "bytes": _per_block(item.scratch_bytes, launch)})
        hidden = [more if text == item.SCRATCH else text for text in item.hidden]
        launches.append(
            {"kernel": names[one], "grid": launch.grid, "block": item.block, "shared_bytes": str(item.shared_bytes),
             "args": (*launch.args, *hidden)}
        )  # fmt: skip
    try:
        closed = LaunchPlan.model_validate({"launch": launches, "scratch": scratch, "constant": plan.constant})
    except ValidationError as error:
        raise PlanError(f"{FILE_NAME}: with what the compiler adds: {explain(error)}") from None
    return DeviceBuilt(
        plan=closed, kernels=tuple(kernels.values()), architecture=architecture, compiler=compiler, messages=messages
    )


def _per_block(n_bytes: int, launch: Launch) -> str:
    size = f"{n_bytes}*({launch.grid[0]})*({launch.grid[1]})*({launch.grid[2]})"
    if len(size) > MAX_CHARACTERS:
        raise PlanError(f"{FILE_NAME}: {launch.kernel}: needs memory per block; write its grid in fewer characters")
    return size
