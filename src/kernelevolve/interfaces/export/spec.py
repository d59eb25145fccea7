"""What the exported module has to know about an operator, as one plain dict; and which axes its caller must pass."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from kernelevolve.model.task import Task, TensorSpec, dim_axes
from kernelevolve.model.value import canonical_json, sha256_text
from kernelevolve.toolchains.abi import is_scalar, scalar_type


def package_spec(
    task: Task, kernels: Sequence[dict[str, Any]], *, reference: str, fallback: str, texts: str
) -> dict[str, Any]:
    """Plain values only. `kernels` in the order in which their rules are asked; `reference` is a path inside the
    package; `texts`: all that the package runs, which tells two packages of one operator apart."""
    spec = {
        "name": task.entry,
        "device": "cuda" if task.platform == "cuda" else "cpu",
        "axes": [{"name": axis.name, "role": axis.role} for axis in task.axes],
        "inputs": [{"name": spec.name, "dtype": spec.dtype, "dims": list(spec.dims), "in_place": spec.in_place,
                    "scalar": scalar_type(spec) if is_scalar(spec) else "", **_pitch(task, spec)}
                   for spec in task.inputs],
        "outputs": [{"name": spec.name, "dtype": spec.dtype, "dims": list(spec.dims)} for spec in task.outputs],
        "free": list(free_axes(task)),
        "kernels": list(kernels),
        "reference": reference,
        "fallback": fallback,
    }  # fmt: skip
    return {**spec, "identity": sha256_text(canonical_json([spec, texts]))[:12]}


def _pitch(task: Task, spec: TensorSpec) -> dict[str, Any]:
    """How far apart the rows of a tensor may lie: axis, lowest, highest, step. Nothing: back to back only."""
    if not spec.pitch:
        return {}
    axis = task.axis(spec.pitch)
    return {"pitch": [axis.name, axis.low, axis.high, axis.multiple_of]}


def static_fit(task: Task) -> str:
    """The question that a traced call can answer: are types, ranks and devices the kernels'?"""
    device = "cuda" if task.platform == "cuda" else "cpu"
    parts = [
        f"{spec.name}.device.type == '{device}' and {spec.name}.dtype == torch.{spec.dtype} "
        f"and {spec.name}.dim() == {len(spec.dims)}"
        for spec in task.inputs
        if not is_scalar(spec)
    ]
    grads = " or ".join(f"{spec.name}.requires_grad" for spec in task.inputs if not is_scalar(spec))
    return " and ".join([*parts, f"not (torch.is_grad_enabled() and ({grads or 'False'}))"])


def reference_call(task: Task) -> str:
    """The reference as an expression that a tracer can follow into."""
    names = [spec.name for spec in task.inputs]
    free = list(free_axes(task))
    axes = reference_arguments(task) & {axis.name for axis in task.axes}
    if axes <= set(free):
        return f"_REFERENCE({', '.join(f'{name}={name}' for name in [*names, *sorted(axes)])})"
    given = "".join(f"{name}, " for name in free)
    return f"OPERATOR.by_reference(({''.join(f'{name}, ' for name in names)}), ({given}))"


def free_axes(task: Task) -> dict[str, int | None]:
    """Shape axes no input tells: to be passed by the caller. The value is the default, None when there can be none.

    An axis that neither an output's size nor the reference depends on is a hint; it defaults to the first shown shape.
    """
    known = _readable(task)
    needed = set().union(*(dim_axes(dim) for spec in task.outputs for dim in spec.dims)) | reference_arguments(task)
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


def reference_arguments(task: Task) -> set[str]:
    """Parameter names of the task's `reference`, read without running it; every axis when they cannot be read."""
    try:
        tree = ast.parse(task.files[0].text)
    except (SyntaxError, ValueError):
        return {axis.name for axis in task.axes}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "reference":
            return {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
    return {axis.name for axis in task.axes}
