"""A Task: the operator to speed up, what counts as right, and the shapes it is asked for.

Everything here is declarative text and numbers: reading a task never runs its code. The reference, the input
generator and the optional oracle are Python source kept in `files`; only the judge ever executes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from kernelevolve.model.value import Value

DType = Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
DTYPE_BYTES: dict[str, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
FLOAT_DTYPES = ("float64", "float32", "float16", "bfloat16")
Shape = dict[str, int]
"""Axis name -> size, for the axes whose role is "shape"."""

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_DIM = re.compile(r"^[A-Za-z0-9_ +*()\-/]+$")


class SourceFile(Value):
    """One text file of a task or candidate; `path` is relative and stays inside its folder."""

    path: str
    text: str

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
            raise ValueError(f"'{path}' must be a relative path that stays inside its folder")
        return path


class Axis(Value):
    """A named size. Role "shape": chosen by the shape sets, within the domain low..high, multiple_of.
    Role "input" / "output": read off an input tensor / off the reference's output (data-dependent).
    Role "pitch": how far apart the rows of one tensor lie; see `TensorSpec.pitch` and `fits_pitch`."""

    name: str
    role: Literal["shape", "input", "output", "pitch"] = "shape"
    low: int = Field(default=0, ge=0)
    high: int = Field(default=2**40, ge=0)
    multiple_of: int = Field(default=1, ge=1)
    description: str = ""

    @model_validator(mode="after")
    def _sane(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"axis name '{self.name}' must be an identifier")
        if self.low > self.high:
            raise ValueError(f"axis {self.name}: low {self.low} is above high {self.high}")
        return self

    def admits(self, size: int) -> bool:
        return self.low <= size <= self.high and size % self.multiple_of == 0


class TensorSpec(Value):
    """A tensor argument. `dims` are axis names, integers or sums and products of them; row-major, contiguous but for
    a `pitch`.
    An input without dims is a scalar and is passed by value."""

    name: str
    dtype: DType
    dims: tuple[str, ...] = ()
    in_place: bool = Field(default=False, description="an input the operator updates; it is also an output")
    static: bool = Field(default=False, description="a parameter: in use it seldom changes; the judge changes it")
    pitch: str = Field(
        default="",
        description="axis of role pitch: elements from one index of the first dim to the next; the other dims are "
        "contiguous and what lies between is the caller's",
    )
    description: str = ""

    @model_validator(mode="after")
    def _sane(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"tensor name '{self.name}' must be an identifier")
        for dim in self.dims:
            if not _DIM.fullmatch(dim):
                raise ValueError(f"tensor {self.name}: dim '{dim}' may hold axis names, integers and + - * / ( )")
        return self

    @model_serializer(mode="wrap")
    def _contiguous_as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A contiguous tensor keeps the text, and so its task the identity, that it had before there were pitches."""
        data: dict[str, Any] = handler(self)
        if not data.get("pitch"):
            data.pop("pitch", None)
        return data


class Rule(Value):
    """What counts as right. bitwise: every byte equal. scaled: for each element
    |got - oracle| <= rtol*|oracle| + rms*RMS(oracle), the oracle computed in float64; a 16-bit format's own rounding
    comes on top. allclose: foreign suites' own
    rule, |got - oracle| <= rtol*(1 + |oracle|), under which small answers are not told from zeros; offered to see what
    a suite's rule lets through, not to search with."""

    kind: Literal["bitwise", "scaled", "allclose"]
    rtol: float = Field(default=0.0, ge=0, le=0.1)
    rms: float = Field(default=0.0, ge=0, le=0.1)

    @model_validator(mode="after")
    def _sane(self) -> Self:
        if self.kind == "bitwise" and (self.rtol or self.rms):
            raise ValueError("a bitwise rule takes no rtol or rms")
        if self.kind == "scaled" and not (self.rtol or self.rms):
            raise ValueError("a scaled rule needs rtol or rms above 0")
        if self.kind == "allclose" and (self.rms or not self.rtol):
            raise ValueError("an allclose rule takes rtol above 0 and no rms")
        return self


class Rollout(Value):
    """Stateful operators are also judged over many steps: the in-place tensor `state` is carried from call to
    call with new other inputs, and the end state and output may differ from the float64 oracle's by at most
    `relative_l2` (norm of the difference over norm of the oracle)."""

    state: str
    steps: int = Field(ge=2, le=10_000)
    relative_l2: float = Field(gt=0, le=0.05)


class Objective(Value):
    """clock: "host" times the whole call, "device" the device's own work. cache: whether the inputs are
    resident (warm) or rotated beyond the last-level cache (cold)."""

    clock: Literal["host", "device"] = "host"
    cache: Literal["warm", "cold"] = "warm"


class ShapeSets(Value):
    """Three buckets. shown: told to the proposer. search: timed for feedback, never shown.
    sealed: used once, for the final claim."""

    shown: tuple[Shape, ...]
    search: tuple[Shape, ...] = ()
    sealed: tuple[Shape, ...] = ()


class Task(Value):
    """An operator on a platform kind. `content_id` is the identity: any change makes another task."""

    schema_version: Literal[1] = 1
    name: str
    summary: str = ""
    family: str = Field(default="", description="operator family, a hint for template proposers")
    platform: str = Field(default="cpu", description="platform kind this task is specialised for")
    dtype: DType = Field(default="float32", description="what `float` stands for in the tensor specs")
    entry: str = Field(description='name of the extern "C" function a candidate defines')
    axes: tuple[Axis, ...] = ()
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...] = ()
    rule: Rule
    rollout: Rollout | None = None
    traffic: str = Field(
        default="", description="bytes a call must move at least, over axes; empty: every tensor once, in-place twice"
    )
    objective: Objective = Objective()
    shapes: ShapeSets
    where: str = Field(default="", description="the part of a larger domain that is asked for; see model/paths.py")
    format: Literal["native", "kernelbench", "flashinfer_trace"] = "native"
    files: tuple[SourceFile, ...] = Field(description="Python source; the first file is the one that is loaded")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = _task_problems(self)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @model_serializer(mode="wrap")
    def _whole_tasks_as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A task that was not narrowed keeps the text, and so the identity, it had before there were paths."""
        data: dict[str, Any] = handler(self)
        if not data.get("where"):
            data.pop("where", None)
        return data

    def axis(self, name: str) -> Axis:
        return next(axis for axis in self.axes if axis.name == name)

    @property
    def varies(self) -> bool:
        """Whether some size depends on what the inputs hold, not on the shape alone."""
        return any(axis.role in ("input", "output") for axis in self.axes)

    @property
    def pitched(self) -> tuple[TensorSpec, ...]:
        """The inputs whose rows may lie further apart than they are long."""
        return tuple(spec for spec in self.inputs if spec.pitch)

    @property
    def written(self) -> tuple[TensorSpec, ...]:
        """Everything a candidate writes: in-place inputs, then outputs."""
        return tuple(spec for spec in self.inputs if spec.in_place) + self.outputs

    @property
    def fixed_size(self) -> bool:
        """Whether there is one shape only: no axis has room to vary."""
        return not any(axis.role == "shape" and axis.low < axis.high for axis in self.axes)

    def public(self) -> Task:
        """What a proposer may see: the same task without its search and sealed shapes."""
        return self.model_copy(update={"shapes": ShapeSets(shown=self.shapes.shown)})


def evaluate_dim(dim: str, sizes: Mapping[str, int]) -> int:
    """The size a dim expression stands for. Raises KeyError for an axis that has no size yet."""
    tokens = re.findall(r"[A-Za-z_][A-Za-z0-9_]*|\d+|[-+*/()]", dim)
    if "".join(tokens) != dim.replace(" ", ""):
        raise ValueError(f"dim '{dim}' is not an expression over axes")
    position = 0

    def factor() -> int:
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "(":
            value = total()
            position += 1
            return value
        return int(token) if token.isdigit() else sizes[token]

    def product() -> int:
        nonlocal position
        value = factor()
        while position < len(tokens) and tokens[position] in "*/":
            operator = tokens[position]
            position += 1
            right = factor()
            value = value * right if operator == "*" else value // right
        return value

    def total() -> int:
        nonlocal position
        value = product()
        while position < len(tokens) and tokens[position] in "+-":
            operator = tokens[position]
            position += 1
            right = product()
            value = value + right if operator == "+" else value - right
        return value

    value = total()
    if position != len(tokens):
        raise ValueError(f"dim '{dim}' is not an expression over axes")
    return value


def dim_axes(dim: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", dim))


def bytes_of(specs: tuple[TensorSpec, ...], sizes: Mapping[str, int]) -> int:
    """Bytes held by the tensors of `specs` at these sizes."""
    return sum(DTYPE_BYTES[spec.dtype] * math.prod(evaluate_dim(dim, sizes) for dim in spec.dims) for spec in specs)


def row_of(spec: TensorSpec, sizes: Mapping[str, int]) -> int:
    """Elements that one index of the first dim holds."""
    return math.prod(evaluate_dim(dim, sizes) for dim in spec.dims[1:])


def fits_pitch(axis: Axis, row: int, pitch: int) -> bool:
    """Whether rows of `row` elements may lie this far apart: back to back always, so that contiguous tensors of every
    width stay inside the domain; else what the axis admits. A width that is a multiple of `multiple_of` itself can so
    be relied on to give aligned rows."""
    return row <= pitch <= axis.high and (pitch == row or axis.admits(pitch))


def held_bytes_of(spec: TensorSpec, sizes: Mapping[str, int]) -> int:
    """Bytes from the first to behind the last row, with what lies between and behind them."""
    if not spec.pitch:
        return bytes_of((spec,), sizes)
    return DTYPE_BYTES[spec.dtype] * evaluate_dim(spec.dims[0], sizes) * sizes[spec.pitch]


def _task_problems(task: Task) -> list[str]:
    names = [axis.name for axis in task.axes] + [spec.name for spec in (*task.inputs, *task.outputs)]
    problems = [f"'{name}' is declared twice" for name in sorted({n for n in names if names.count(n) > 1})]
    known = {axis.name for axis in task.axes}
    for spec in (*task.inputs, *task.outputs):
        unknown = set().union(*(dim_axes(dim) for dim in spec.dims)) - known if spec.dims else set()
        problems += [f"tensor {spec.name}: axis '{name}' is not declared" for name in sorted(unknown)]
    problems += [
        f"output {spec.name} cannot be in_place or static" for spec in task.outputs if spec.in_place or spec.static
    ]
    problems += [f"traffic: axis '{name}' is not declared" for name in sorted(dim_axes(task.traffic) - known)]
    if not task.written:
        problems.append("nothing is written: declare an output or an in_place input")
    if not _NAME.fullmatch(task.entry):
        problems.append(f"entry '{task.entry}' must be a C identifier")
    if not task.files:
        problems.append("no source file")
    if task.rollout and task.rollout.state not in {spec.name for spec in task.inputs if spec.in_place}:
        problems.append(f"rollout state '{task.rollout.state}' is not an in_place input")
    if task.rule.kind != "bitwise" and not any(spec.dtype in FLOAT_DTYPES for spec in task.written):
        problems.append("a rule with a tolerance needs a floating-point output; integers are judged bitwise")
    return problems + _pitch_problems(task) + _shape_problems(task)


def _pitch_problems(task: Task) -> list[str]:
    roles = {axis.name: axis.role for axis in task.axes}
    used = [spec.pitch for spec in task.inputs if spec.pitch]
    pitches = {axis.name for axis in task.axes if axis.role == "pitch"}
    problems = [f"output {spec.name} cannot have a pitch: it is contiguous" for spec in task.outputs if spec.pitch]
    problems += [f"tensor {spec.name}: a scalar has no pitch" for spec in task.inputs if spec.pitch and not spec.dims]
    problems += [f"tensor {spec.name}: pitch axis '{spec.pitch}' is not declared" for spec in task.pitched
                 if spec.pitch not in roles]  # fmt: skip
    problems += [f"tensor {spec.name}: the role of its pitch axis '{spec.pitch}' must be pitch, is {roles[spec.pitch]}"
                 for spec in task.pitched if roles.get(spec.pitch, "pitch") != "pitch"]  # fmt: skip
    problems += [f"axis {name}: two tensors cannot have one pitch" for name in sorted({n for n in used
                 if used.count(n) > 1})]  # fmt: skip
    problems += [f"axis {name}: role pitch needs an input with pitch = \"{name}\"" for name in sorted(pitches)
                 if name not in used]  # fmt: skip
    in_dims = {name: spec.name for spec in (*task.inputs, *task.outputs) for dim in spec.dims for name in dim_axes(dim)}
    problems += [f"tensor {in_dims[name]}: pitch axis '{name}' cannot stand in dims" for name in sorted(in_dims)
                 if name in pitches]  # fmt: skip
    return problems + [f"traffic: '{name}' is a pitch, gaps between rows are not moved"
                       for name in sorted(dim_axes(task.traffic) & pitches)]  # fmt: skip


def _shape_problems(task: Task) -> list[str]:
    wanted = {axis.name: axis for axis in task.axes if axis.role == "shape"}
    roles = {axis.name: axis.role for axis in task.axes}
    problems = []
    if not task.shapes.shown:
        problems.append("shapes.shown is empty")
    for bucket in ("shown", "search", "sealed"):
        for index, shape in enumerate(getattr(task.shapes, bucket)):
            where = f"shapes.{bucket}[{index}]"
            problems += [f"{where}: axis '{name}' has no size" for name in sorted(wanted.keys() - shape.keys())]
            problems += [
                f"{where}: '{name}' is not a shape axis"
                + (": a pitch is the tensor's own" if roles.get(name) == "pitch" else "")
                for name in sorted(shape.keys() - wanted.keys())
            ]
            problems += [
                f"{where}: {name}={size} is outside the domain {wanted[name].low}..{wanted[name].high}, "
                f"multiple of {wanted[name].multiple_of}"
                for name, size in shape.items()
                if name in wanted and not wanted[name].admits(size)
            ]
    return problems
