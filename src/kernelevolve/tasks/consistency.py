"""What can be said about any task without running it: names, dims, sizes and shape buckets."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from kernelevolve.model.task import (
    FLOAT_DTYPES,
    Rule,
    Task,
    TensorSpec,
    bytes_of,
    dim_axes,
    evaluate_dim,
    fits_pitch,
    row_of,
)
from kernelevolve.tasks.names import argument_fault, entry_fault
from kernelevolve.tasks.reading import task_error

MAX_SHAPE_BYTES = 16 * 2**30
MAX_DIM_CHARACTERS = 200
_DIM_NODES = (ast.Expression, ast.BinOp, ast.Name, ast.Constant, ast.Load, ast.Add, ast.Sub, ast.Mult, ast.Div)
_BUCKETS = ("shown", "search", "sealed")


def finished(fields: dict[str, Any], where: str) -> Task:
    """The task, after the checks that need all of it. Raises TaskError."""
    try:
        task = Task(**fields)
    except ValidationError as error:
        raise task_error(where, _task_faults(error)) from error
    faults = faults_of(task)
    if faults:
        raise task_error(where, faults)
    return task


def dim_fault(dim: str) -> str | None:
    """Why `dim` is not an expression over axes, or None."""
    if len(dim) > MAX_DIM_CHARACTERS:
        return f"a dim has more than {MAX_DIM_CHARACTERS} characters"
    if not re.fullmatch(r"[A-Za-z0-9_ +*()\-/]+", dim) or re.search(r"(?<![A-Za-z0-9_])\d+[A-Za-z_]", dim):
        return f"dim '{dim}' may hold axis names, integers and + - * / ( )"
    try:
        tree = ast.parse(dim.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"dim '{dim}' is not an expression over axis names and integers"
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is not int:
            return f"dim '{dim}' holds something that is not an integer"
        if not isinstance(node, _DIM_NODES):
            return f"dim '{dim}' may hold axis names, integers and + - * / ( )"
    return None


def default_rule(dtypes: list[str]) -> Rule:
    """The rule for outputs of these dtypes when a format brings none.

    Integers are exact. float32: the `rms` part carries long reductions, where a reordered sum is off by a small
    share of the typical result however small the single element is; 16-bit floats round at 2^-8 or 2^-11.
    """
    floats = [dtype for dtype in dtypes if dtype in FLOAT_DTYPES]
    if not floats:
        return Rule(kind="bitwise")
    if any(dtype in ("float16", "bfloat16") for dtype in floats):
        return Rule(kind="scaled", rtol=1e-2, rms=5e-3)
    return Rule(kind="scaled", rtol=1e-4, rms=1e-3)


def faults_of(task: Task) -> list[str]:
    """One line per fault."""
    specs = [("inputs", spec) for spec in task.inputs] + [("outputs", spec) for spec in task.outputs]
    named = [(f"axes.{axis.name}", axis.name) for axis in task.axes] + [
        (f"{kind}.{s.name}", s.name) for kind, s in specs
    ]
    faults = [f"{where}: {fault}" for where, name in named if (fault := argument_fault(name))]
    if fault := entry_fault(task.entry):
        faults.append(f"entry: {fault}")
    dims = [f"{kind}.{spec.name}: {fault}" for kind, spec in specs for dim in spec.dims if (fault := dim_fault(dim))]
    faults += dims + _flag_faults(task) + _role_faults(task) + _bucket_faults(task)
    return faults if dims else faults + _size_faults(task)


def _flag_faults(task: Task) -> list[str]:
    faults = []
    for spec in task.inputs:
        if spec.in_place and not spec.dims:
            faults.append(f"inputs.{spec.name}: a scalar is passed by value and cannot be in_place; give it dims")
        if spec.in_place and spec.static:
            faults.append(f"inputs.{spec.name}: cannot be in_place and static at once")
    return faults


def _role_faults(task: Task) -> list[str]:
    faults = []
    outputs = {axis.name for axis in task.axes if axis.role == "output"}
    for role, specs in (("input", task.inputs), ("output", task.outputs)):
        alone = {dim.strip() for spec in specs for dim in spec.dims}
        faults += [
            f'axes.{axis.name}: role {role} needs an {role} tensor with the dim "{axis.name}" to read it from'
            for axis in task.axes
            if axis.role == role and axis.name not in alone
        ]
    for spec in task.inputs:
        used = sorted(outputs & {name for dim in spec.dims for name in dim_axes(dim)})
        faults += [f"inputs.{spec.name}: axis {name} is only known after the operator has run" for name in used]
    return faults


def _bucket_faults(task: Task) -> list[str]:
    faults = [
        f"shapes.{bucket} is empty: give at least one shape" for bucket in _BUCKETS if not getattr(task.shapes, bucket)
    ]
    if any(axis.role == "shape" for axis in task.axes):
        seen = [*task.shapes.shown, *task.shapes.search]
        faults += [
            f"shapes.sealed[{index}]: also in shown or search; a sealed shape must be a new one"
            for index, shape in enumerate(task.shapes.sealed)
            if shape in seen
        ]
    return faults


def _size_faults(task: Task) -> list[str]:
    faults = []
    for bucket in _BUCKETS:
        for index, shape in enumerate(getattr(task.shapes, bucket)):
            where = f"shapes.{bucket}[{index}]"
            known = tuple(s for s in (*task.inputs, *task.outputs) if _axes(s) <= shape.keys())
            try:
                negative = sorted({d for spec in known for d in spec.dims if evaluate_dim(d, shape) < 0})
                n_bytes = bytes_of(known, shape)
            except ZeroDivisionError:
                faults.append(f"{where}: a dim divides by zero")
                continue
            faults += [f"{where}: dim '{dim}' is negative" for dim in negative]
            faults += [f"{where}: {fault}" for fault in _long_rows(task, shape)]
            if n_bytes > MAX_SHAPE_BYTES:
                faults.append(f"{where}: tensors of {n_bytes / 2**30:.0f} GiB; at most {MAX_SHAPE_BYTES // 2**30} GiB")
    return faults


def _long_rows(task: Task, shape: Mapping[str, int]) -> list[str]:
    known = [spec for spec in task.pitched if set().union(*map(dim_axes, spec.dims[1:])) <= shape.keys()]
    return [
        f"rows of {spec.name} have {row} elements; raise the high of its pitch {spec.pitch} from {axis.high}"
        for spec in known
        if not fits_pitch(axis := task.axis(spec.pitch), row := row_of(spec, shape), row)
    ]


def _axes(spec: TensorSpec) -> set[str]:
    return {name for dim in spec.dims for name in dim_axes(dim)}


def _task_faults(error: ValidationError) -> list[str]:
    lines = []
    for item in error.errors(include_url=False):
        where = "".join(f"{part}: " for part in item["loc"][:1])
        lines += [where + line for line in item["msg"].removeprefix("Value error, ").split("; ")]
    return lines
