"""What the tests of the built-in tasks share: loading, calling a reference, small shapes, the rule."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import pytest
import torch

from kernelevolve.model.task import Rule, Shape, Task
from kernelevolve.tasks import BUILTIN, builtin_names, load_task

Inputs = dict[str, Any]
Results = dict[str, torch.Tensor]
NAMES = builtin_names()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The inputs are small: a second thread only waits, and for long where other work runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def task_of(name: str) -> Task:
    return load_task(name)


@cache
def module_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"builtin_{name}", BUILTIN / name / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def variants() -> list[tuple[str, str]]:
    return [(name, variant) for name in NAMES for variant in module_of(name).VARIANTS]


def make(name: str, shape: Shape, *, seed: int = 1, variant: str = "nominal") -> Inputs:
    made: Inputs = module_of(name).make_inputs(dict(shape), torch.Generator().manual_seed(seed), variant)
    return made


def call(name: str, inputs: Mapping[str, Any], shape: Shape, function: Callable[..., Any] | None = None) -> Results:
    """Everything the operator writes, by name; `inputs` stay as they are. `function`: instead of the reference."""
    task, function = task_of(name), function or module_of(name).reference
    given = {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in inputs.items()}
    wanted = inspect.signature(function).parameters
    sizes = {axis: size for axis, size in shape.items() if axis in wanted and axis not in given}
    returned = function(**given, **sizes)
    outputs = returned if isinstance(returned, tuple) else (returned,)
    results = {spec.name: given[spec.name] for spec in task.inputs if spec.in_place}
    return results | {spec.name: output for spec, output in zip(task.outputs, outputs, strict=True)}


def upcast(inputs: Mapping[str, Any]) -> Inputs:
    return {
        name: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for name, value in inputs.items()
    }


def truth(name: str, inputs: Mapping[str, Any], shape: Shape) -> Results:
    """What a candidate's answer is held against."""
    return call(name, inputs if task_of(name).rule.kind == "bitwise" else upcast(inputs), shape)


def worst(rule: Rule, got: Results, expected: Results) -> float:
    """Above 1: wrong. For a scaled rule the largest error as a share of what is allowed; 2.0 for anything else."""
    shares = [0.0]
    for name, right in expected.items():
        answer = got[name]
        if answer.shape != right.shape:
            return 2.0
        if rule.kind == "bitwise":
            same = torch.equal(answer.contiguous().view(torch.uint8), right.contiguous().view(torch.uint8))
            shares.append(0.0 if same else 2.0)
            continue
        oracle, error = right.double(), (answer.double() - right.double()).abs()
        rms = float(oracle.square().mean().sqrt()) if oracle.numel() else 0.0
        allowed = rule.rtol * oracle.abs() + rule.rms * rms
        share = torch.where(error == 0, 0.0, error / allowed).nan_to_num(nan=2.0, posinf=1e9)
        shares.append(float(share.max()) if share.numel() else 0.0)
    return max(shares)


def shrunk(name: str, limit: int) -> Shape:
    """The first shown shape with every axis cut to `limit` at most."""
    shape = {axis: min(size, limit) for axis, size in task_of(name).shapes.shown[0].items()}
    return shape | ({"B": 8, "H": 2, "HV": 8, "S": 9} if name == "gated_delta_packed_decode" else {})


def small_shapes(name: str) -> list[Shape]:
    """Odd sizes, two smaller mixtures, then each axis in turn at its lower end and at 1; all inside the domain."""
    axes = [axis for axis in task_of(name).axes if axis.role == "shape"]
    base = {axis.name: size for axis, size in zip(axes, (5, 6, 3, 7, 4, 6), strict=False)}
    if name == "gated_delta_packed_decode":
        base |= {"H": 2, "HV": 8}
    shapes = [base, {axis: size // 2 for axis, size in base.items()}, dict.fromkeys(base, 2)]
    for axis in axes:
        shapes += [{**base, axis.name: axis.low}, {**base, axis.name: 1}]
    inside = [{axis.name: max(axis.low, shape[axis.name]) for axis in axes} for shape in shapes]
    return [shape for shape in inside if shape.get("HV", 0) % shape.get("H", 1) == 0]
