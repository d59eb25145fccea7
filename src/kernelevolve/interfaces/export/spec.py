"""What the exported wrapper has to know about a task, as one plain dict; and which axes its caller must pass."""

from __future__ import annotations

import ast
from typing import Any

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task, dim_axes
from kernelevolve.toolchains.abi import is_scalar, scalar_type
from kernelevolve.toolchains.cpp import BASE_FLAGS


def wrapper_spec(task: Task, candidate: Candidate, *, sources: list[str], reference: str) -> dict[str, Any]:
    """Plain values only. `sources` and `reference` are paths inside the exported folder."""
    return {
        "name": task.entry,
        "axes": [{"name": axis.name, "role": axis.role, "low": axis.low, "high": axis.high,
                  "multiple_of": axis.multiple_of} for axis in task.axes],
        "inputs": [{"name": spec.name, "dtype": spec.dtype, "dims": [_python(dim) for dim in spec.dims],
                    "in_place": spec.in_place, "scalar": scalar_type(spec) if is_scalar(spec) else ""}
                   for spec in task.inputs],
        "outputs": [{"name": spec.name, "dtype": spec.dtype, "dims": [_python(dim) for dim in spec.dims]}
                    for spec in task.outputs],
        "sources": sources,
        "flags": [*BASE_FLAGS, *candidate.flags],
        "reference": reference,
    }  # fmt: skip


def free_axes(task: Task) -> dict[str, int | None]:
    """Shape axes no input tells: to be passed by the caller. The value is the default, None when there can be none.

    An axis that neither an output's size nor the reference depends on is a hint; it defaults to the first shown shape.
    """
    known = _readable(task)
    needed = set().union(*(dim_axes(dim) for spec in task.outputs for dim in spec.dims)) | _reference_arguments(task)
    return {
        axis.name: None if axis.name in needed else task.shapes.shown[0][axis.name]
        for axis in task.axes
        if axis.role == "shape" and axis.name not in known
    }


def _readable(task: Task) -> set[str]:
    """Axes that follow from the inputs' sizes, reading plain dims first and then solving one unknown at a time."""
    known: set[str] = set()
    dims = [dim for spec in task.inputs for dim in spec.dims]
    while True:
        found = {next(iter(left)) for dim in dims if len(left := dim_axes(dim) - known) == 1}
        if not found:
            return known
        known |= found


def _reference_arguments(task: Task) -> set[str]:
    """Parameter names of the task's `reference`, read without running it; empty when they cannot be read."""
    try:
        tree = ast.parse(task.files[0].text)
    except (SyntaxError, ValueError):
        return {axis.name for axis in task.axes}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "reference":
            return {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
    return {axis.name for axis in task.axes}


def _python(dim: str) -> str:
    return dim.replace("/", "//")
