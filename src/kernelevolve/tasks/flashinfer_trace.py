"""The flashinfer-trace format: a JSON definition with named axes and the reference as source text.

Sizes of the variable axes come from, in this order: "shapes" (shown, search, sealed) in the file, "workloads" in
the file, a `.jsonl` of workloads beside it or at the place flashinfer-trace keeps it, or defaults.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from kernelevolve.model.task import FLOAT_DTYPES, Axis, DType, Shape, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.model.value import Value, faults
from kernelevolve.tasks.consistency import default_rule, finished
from kernelevolve.tasks.constraints import Constraint, parse_constraint
from kernelevolve.tasks.names import argument_fault, as_entry
from kernelevolve.tasks.reading import exists, parse_python, read_text, task_error
from kernelevolve.tasks.source_check import argument_faults, function, import_faults

_DEFAULT_SIZES = {"shown": (1, 16, 64), "search": (4, 33, 128), "sealed": (7, 48, 100)}
_SCALAR_DTYPES = ("int64", "float64")
_TEMPLATE = '''\
"""Generated from a flashinfer-trace definition."""

import torch
from definition_reference import run

VARIANTS = ("nominal", "small")
INPUTS = {inputs!r}
OUTPUTS = {outputs!r}
N_INDICES = {n_indices!r}


def make_inputs(sizes, rng, variant):
    inputs = {{}}
    for name, dtype, dims in INPUTS:
        shape = [eval(dim.replace("/", "//"), {{}}, dict(sizes)) for dim in dims or ()]
        kind = getattr(torch, dtype)
        if kind == torch.bool:
            value = torch.rand(shape, generator=rng) > 0.5
        elif kind.is_floating_point:
            value = torch.rand(shape, generator=rng) if dims is None else torch.randn(shape, generator=rng)
            value = (value * (0.01 if variant == "small" else 1.0)).to(kind)
        else:
            value = torch.randint(0, N_INDICES, shape, generator=rng).to(kind)
        inputs[name] = value if shape else value.item()
    return inputs


def reference({names}):
    results = run({call})
    if isinstance(results, dict):
        return tuple(results[name] for name in OUTPUTS)
    return results
'''


class ConstAxis(Value, extra="ignore"):
    type: Literal["const"]
    value: int = Field(ge=0)


class VarAxis(Value, extra="ignore"):
    type: Literal["var"]


class Tensor(Value, extra="ignore"):
    shape: tuple[str | int, ...] | None = None
    dtype: DType


class Workload(Value, extra="ignore"):
    axes: dict[str, int]


class Definition(Value, extra="ignore"):
    """What is read of a definition; keys that only describe are ignored."""

    name: str = Field(min_length=1)
    op_type: str = ""
    description: str | None = None
    axes: dict[str, Annotated[ConstAxis | VarAxis, Field(discriminator="type")]]
    inputs: dict[str, Tensor] = Field(min_length=1)
    outputs: dict[str, Tensor] = Field(min_length=1)
    reference: str
    constraints: tuple[str, ...] | None = None
    shapes: ShapeSets | None = None
    workloads: tuple[Workload, ...] = ()


class FlashinferTraceSource:
    def matches(self, path: Path) -> bool:
        return path.suffix == ".json"

    def load(self, path: Path, *, platform: str) -> Task:
        found: list[str] = []
        definition = _read(path, found)
        if definition is None:
            raise task_error(str(path), found)
        named = (*definition.axes, *definition.inputs, *definition.outputs)
        found += [fault for name in named if (fault := argument_fault(name))]
        found += _source_faults(definition)
        constraints = _constraints(definition, found)
        shapes = _shapes(definition, path, constraints, found)
        dims = _Dims(definition, constraints)
        found += [line for group in (definition.inputs, definition.outputs) for line in dims.faults(group)]
        if found or shapes is None:
            raise task_error(str(path), found)
        return finished(_fields(definition, dims, shapes, platform), str(path))


class _Dims:
    """Dims of the tensors: constants as numbers, axes fixed by a constraint as the expression it gives."""

    def __init__(self, definition: Definition, constraints: list[Constraint]) -> None:
        self.axes = definition.axes
        self.defined = {c.axis: c.expression for c in constraints if c.axis}

    def of(self, tensor: Tensor) -> tuple[str, ...]:
        return tuple(self._dim(str(dim)) for dim in tensor.shape or ())

    def _dim(self, dim: str) -> str:
        axis = self.axes.get(dim)
        return str(axis.value) if isinstance(axis, ConstAxis) else self.defined.get(dim, dim)

    def faults(self, tensors: dict[str, Tensor]) -> list[str]:
        return [
            f"{name}: axis '{dim}' is not declared"
            for name, tensor in tensors.items()
            for dim in tensor.shape or ()
            if isinstance(dim, str) and dim not in self.axes and not (dim.isascii() and dim.isdigit())
        ]


def _read(path: Path, found: list[str]) -> Definition | None:
    text = read_text(path, path.name, found)
    if text is None:
        return None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        found.append(f"{path.name} line {error.lineno}: JSON error: {error.msg}")
        return None
    except (ValueError, RecursionError) as error:
        found.append(f"{path.name}: JSON error: {error}")
        return None
    if not isinstance(data, dict):
        found.append(f"{path.name}: a definition is a JSON object")
        return None
    try:
        return Definition.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        found += faults(error)
    return None


def _source_faults(definition: Definition) -> list[str]:
    found: list[str] = []
    tree = parse_python(definition.reference, "reference", found)
    if tree is None:
        return found
    node = function(tree, "run")
    if node is None:
        return ["reference: defines no function run(...)"]
    return import_faults(tree, "reference", set()) + argument_faults(
        node, f"reference line {node.lineno}", list(definition.inputs), []
    )


def _constraints(definition: Definition, found: list[str]) -> list[Constraint]:
    """The constraints over axes. One about the content of a tensor is a fault: random inputs would break it."""
    free = {name for name, axis in definition.axes.items() if isinstance(axis, VarAxis)}
    fixed = {name: axis.value for name, axis in definition.axes.items() if isinstance(axis, ConstAxis)}
    constraints: list[Constraint] = []
    for text in definition.constraints or ():
        constraint = parse_constraint(text, free, fixed)
        if constraint is None:
            found.append(
                f"constraint '{text}': only comparisons of axes can be kept by generated inputs; "
                "write a native task with a make_inputs of your own"
            )
            continue
        if constraint.axis:
            free.discard(constraint.axis)
        constraints.append(constraint)
    return constraints


def _shapes(definition: Definition, path: Path, constraints: list[Constraint], found: list[str]) -> ShapeSets | None:
    defined = {c.axis for c in constraints if c.axis}
    free = [name for name, axis in definition.axes.items() if isinstance(axis, VarAxis) and name not in defined]
    if not free:
        return ShapeSets(shown=({},), search=({},), sealed=({},))
    if definition.shapes is not None:
        return _explicit(definition.shapes, free, constraints, found)
    given = [{name: work.axes[name] for name in free if name in work.axes} for work in definition.workloads]
    given = given or _workload_file(path, free, found)
    distinct = [dict(items) for items in dict.fromkeys(tuple(shape.items()) for shape in given)]
    allowed = [shape for shape in distinct if len(shape) < len(free) or all(c.holds(shape) for c in constraints)]
    if len(allowed) < len(distinct):
        found.append("a workload breaks a constraint")
    buckets: dict[str, list[Shape]] = {name: allowed[index::3] for index, name in enumerate(_DEFAULT_SIZES)}
    for name, sizes in _DEFAULT_SIZES.items():
        usual: list[Shape] = [dict.fromkeys(free, size) for size in sizes]
        usual = [shape for shape in usual if all(c.holds(shape) for c in constraints)]
        if not buckets[name]:
            buckets[name] = [shape for shape in usual if shape not in distinct]
        if not buckets[name]:
            found.append(f'no default sizes satisfy the constraints; add "shapes": {{"{name}": [...]}} to the file')
    return ShapeSets(**{name: tuple(shapes) for name, shapes in buckets.items()})


def _explicit(sets: ShapeSets, free: list[str], constraints: list[Constraint], found: list[str]) -> ShapeSets:
    for bucket in _DEFAULT_SIZES:
        for index, shape in enumerate(getattr(sets, bucket)):
            if shape.keys() == set(free) and not all(c.holds(shape) for c in constraints):
                found.append(f"shapes.{bucket}[{index}]: breaks a constraint")
    return sets


def _workload_file(path: Path, free: list[str], found: list[str]) -> list[Shape]:
    places = (
        (path.with_suffix(".jsonl"), path.parents[2] / "workloads" / path.parent.name / f"{path.stem}.jsonl")
        if len(path.parents) > 2
        else (path.with_suffix(".jsonl"),)
    )
    file = next((place for place in places if exists(place)), None)
    text = read_text(file, file.name, found) if file else None
    shapes = []
    for number, line in enumerate((text or "").splitlines(), 1):
        try:
            entry: Any = json.loads(line) if line.strip() else None
            if entry is not None:
                axes = Workload.model_validate(entry.get("workload", entry)).axes
                shapes.append({name: axes[name] for name in free})
        except (ValueError, KeyError, AttributeError, RecursionError):
            found.append(f"{file.name if file else ''} line {number}: not a workload with sizes for {', '.join(free)}")
    return shapes


def _fields(definition: Definition, dims: _Dims, shapes: ShapeSets, platform: str) -> dict[str, Any]:
    name = as_entry(definition.name)
    specs = {
        group: tuple(TensorSpec(name=key, dtype=t.dtype, dims=dims.of(t)) for key, t in tensors.items())
        for group, tensors in (("inputs", definition.inputs), ("outputs", definition.outputs))
    }
    constants = [axis.value for axis in definition.axes.values() if isinstance(axis, ConstAxis) and axis.value > 0]
    floats = [t.dtype for t in definition.inputs.values() if t.dtype in FLOAT_DTYPES and t.shape]
    zero_dim = {key: t.dtype for key, t in definition.inputs.items() if t.shape == ()}
    inputs = specs["inputs"]
    wrapper = _TEMPLATE.format(
        inputs=[(s.name, s.dtype, s.dims if definition.inputs[s.name].shape is not None else None) for s in inputs],
        outputs=tuple(definition.outputs),
        n_indices=min(constants, default=2),
        names=", ".join(definition.inputs),
        call=", ".join(
            f"{key}=torch.tensor({key}, dtype=torch.{zero_dim[key]})" if key in zero_dim else f"{key}={key}"
            for key in definition.inputs
        ),
    )
    free = [key for key, axis in definition.axes.items() if isinstance(axis, VarAxis) and key not in dims.defined]
    return {
        "name": name, "entry": name, "family": as_entry(definition.op_type or name), "platform": platform,
        "summary": definition.description or "", "dtype": floats[0] if floats else "float32",
        "axes": tuple(Axis(name=key, low=1) for key in free), **specs, "shapes": shapes,
        "rule": default_rule([t.dtype for t in definition.outputs.values()]), "format": "flashinfer_trace",
        "files": (
            SourceFile(path="reference.py", text=wrapper),
            SourceFile(path="definition_reference.py", text=definition.reference),
        ),
    }  # fmt: skip
