"""Fake answers, made from the reference: what a kernel would give that leaves something out.

A control turns one draw into a full set of answers. `cheap` ones need the draw only; the others run the reference
again on changed inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.overrides import TorchFunctionMode

from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import FLOAT_DTYPES, Task, TensorSpec

Answers = dict[str, torch.Tensor]
Make = Callable[[Draw, Draw], Answers | None]
"""(draw, another draw of the same shape with the same static inputs) -> answers; None where it makes no sense."""
NARROWER = {
    "float64": torch.float32,
    "float32": torch.bfloat16,
    "float16": torch.float8_e5m2,
    "bfloat16": torch.float8_e5m2,
}
SPACING = 101
"""One element in so many is left out: a prime, so that no dimension lines up with it."""
MAX_STAGES = 24


@dataclass(frozen=True, kw_only=True)
class Recipe:
    name: str
    make: Make
    cost: Literal["none", "small", "listed"]
    """none: needs nothing but draws, tried on every shape. small: runs the reference again, on the small shape. listed:
    the same on the smallest listed shape, for what shows in many elements only."""
    may_be_algebra: bool = False
    """Leaving this out may change nothing at all for an honest reason: a bias before a normalisation."""


def recipes(module: TaskModule, draw: Draw, costs: set[str]) -> Iterator[Recipe]:
    """The controls that apply to a task, of these costs."""
    for recipe in _recipes(module, draw, stages="small" in costs):
        if recipe.cost in costs:
            yield recipe


def _recipes(module: TaskModule, draw: Draw, *, stages: bool) -> Iterator[Recipe]:
    task = module.task
    yield Recipe(name="zeros", make=lambda d, _: _filled(task, d, lambda t: torch.zeros_like(t)), cost="none")
    yield Recipe(name="ones", make=lambda d, _: _filled(task, d, lambda t: torch.ones_like(t)), cost="none")
    yield Recipe(name="one constant", make=lambda d, _: _filled(task, d, _constant), cost="none")
    yield Recipe(name="the largest tenth of the output", make=lambda d, _: _filled(task, d, _largest), cost="none")
    yield Recipe(name="99 % of the output", make=lambda d, _: _filled(task, d, _thinned), cost="none")
    for spec in task.inputs:
        if spec.dims:
            yield Recipe(name=f"a copy of {spec.name}", make=_copy_of(task, spec), cost="none")
    yield Recipe(name="the answer for other inputs", make=_other_answer(task), cost="none")
    yield Recipe(name="lower precision", make=_narrow(module), cost="listed")
    for spec in task.inputs:
        yield from _without(module, spec, draw)
    for index, name in enumerate(_stages(module, draw) if stages else ()):
        label = f"stage {index + 1} ({name}) left out"
        yield Recipe(name=label, make=_skipping(module, index), cost="small", may_be_algebra=True)


def _filled(task: Task, draw: Draw, change: Callable[[torch.Tensor], torch.Tensor | None]) -> Answers | None:
    answers = {spec.name: change(expected(draw, spec.name)) for spec in task.written}
    kept = {name: answer for name, answer in answers.items() if answer is not None}
    return kept if len(kept) == len(answers) else None


def expected(draw: Draw, name: str) -> torch.Tensor:
    answer = draw.answers[name]
    return answer.wanted if answer.exact else answer.oracle()


def _constant(values: torch.Tensor) -> torch.Tensor:
    if not values.numel():
        return values
    if values.is_floating_point():
        finite = values[torch.isfinite(values)]
        return torch.full_like(values, float(finite.mean()) if finite.numel() else 0.0)
    most = values.reshape(-1).mode().values if values.dtype != torch.bool else values.sum() * 2 > values.numel()
    return torch.full_like(values, most.item())


def _largest(values: torch.Tensor) -> torch.Tensor | None:
    """Nine tenths are 0, the smallest ones. None where they are 0 anyway."""
    flat = values.clone().reshape(-1)
    if flat.numel() < 10 or flat.dtype == torch.bool:
        return None
    size = flat.abs().nan_to_num(float("inf")) if flat.is_floating_point() else flat.abs()
    flat[size < size.sort().values[flat.numel() - flat.numel() // 10]] = 0
    return None if torch.equal(flat, values.reshape(-1)) else flat.reshape(values.shape)


def _thinned(values: torch.Tensor) -> torch.Tensor | None:
    """A hundredth of the elements, spread over the whole, is 0. None where they are 0 anyway, as in padding."""
    flat = values.clone().reshape(-1)
    flat[flat.numel() // 2 % SPACING :: SPACING] = 0
    return None if torch.equal(flat, values.reshape(-1)) and flat.numel() else flat.reshape(values.shape)


def _copy_of(task: Task, spec: TensorSpec) -> Make:
    def make(draw: Draw, _: Draw) -> Answers | None:
        value = draw.inputs[spec.name]
        answers = {}
        for written in task.written:
            wanted = expected(draw, written.name)
            if written.name == spec.name or value.numel() != wanted.numel():
                return None
            answers[written.name] = value.reshape(wanted.shape).to(wanted.dtype)
        return answers

    return make


def _other_answer(task: Task) -> Make:
    def make(_: Draw, other: Draw) -> Answers | None:
        return {spec.name: expected(other, spec.name) for spec in task.written}

    return make


def _narrow(module: TaskModule) -> Make:
    """The reference on inputs rounded to the next narrower format: a kernel that computes in it is no better."""
    floats = [spec for spec in module.task.inputs if spec.dims and spec.dtype in FLOAT_DTYPES]

    def make(draw: Draw, _: Draw) -> Answers | None:
        changed = dict(draw.inputs)
        for spec in floats:
            value = draw.inputs[spec.name]
            changed[spec.name] = value.to(NARROWER[spec.dtype]).to(value.dtype)
        same = all(torch.equal(changed[spec.name], draw.inputs[spec.name]) for spec in floats)
        return None if same else module.expected(changed, draw.shape)

    return make


def _without(module: TaskModule, spec: TensorSpec, draw: Draw) -> Iterator[Recipe]:
    """A tensor left out: taken as 0 or as 1, or what another draw had there; a hundredth of it missing."""
    name, given = spec.name, draw.inputs[spec.name]
    if not spec.dims or spec.in_place or (spec.dtype not in FLOAT_DTYPES and spec.dtype != "bool"):
        return

    def replaced(change: Callable[[Draw, Draw], torch.Tensor | None], *, even_if_equal: bool = False) -> Make:
        def make(draw: Draw, other: Draw) -> Answers | None:
            value, old = change(draw, other), draw.inputs[name]
            if value is None or value.shape != old.shape or (torch.equal(value, old) and not even_if_equal):
                return None
            return module.expected({**draw.inputs, name: value}, draw.shape)

        return make

    for number, fill in ((0, torch.zeros_like), (1, torch.ones_like)):
        # A tensor that always holds what leaving it out would mean is a fault of the inputs, not algebra.
        always = given.numel() > 0 and torch.equal(given, fill(given))
        make = replaced(lambda d, _, fill=fill: fill(d.inputs[name]), even_if_equal=always)  # type: ignore[misc]
        algebra = spec.static and not always
        yield Recipe(name=f"{name} taken as {number}", make=make, cost="small", may_be_algebra=algebra)
    if not spec.static:
        yield Recipe(name=f"{name} ignored", make=replaced(lambda _, o: o.inputs[name]), cost="small")
        if spec.dtype in FLOAT_DTYPES:
            part = replaced(lambda d, _: _thinned(d.inputs[name]))
            yield Recipe(name=f"99 % of {name}", make=part, cost="listed")


# Calls that only rearrange or retype: leaving one out is no saving, or changes the type and not the value.
_FORM = frozenset(
    {
        "contiguous", "clone", "detach", "to", "float", "double", "half", "bfloat16", "type", "type_as", "reshape",
        "view", "expand", "expand_as", "unsqueeze", "squeeze", "flatten", "permute", "transpose", "t", "mT", "get",
        "size", "dim", "numel", "requires_grad", "dropout",
    }
)  # fmt: skip


class _Counting(TorchFunctionMode):  # type: ignore[misc]  # torch is not typed for us
    """Sees every call of the reference that keeps its first argument's shape, and may answer one of them with it."""

    def __init__(self, skip: int = -1) -> None:
        super().__init__()
        self.names: list[str] = []
        self._skip = skip

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        first = next((arg for arg in args if isinstance(arg, torch.Tensor)), None)
        form = name.strip("_") in _FORM or not isinstance(result, torch.Tensor) or result is first
        stage = not form and first is not None and result.is_floating_point()
        if stage and first is not None and result.shape == first.shape and result.dtype == first.dtype:
            self.names.append(name)
            if len(self.names) - 1 == self._skip:
                return first.clone()
        return result


def _stages(module: TaskModule, draw: Draw) -> list[str]:
    mode = _Counting()
    with mode:
        module.expected(draw.inputs, draw.shape)
    return mode.names[:MAX_STAGES]


def _skipping(module: TaskModule, index: int) -> Make:
    def make(draw: Draw, _: Draw) -> Answers | None:
        mode = _Counting(skip=index)
        try:
            with mode:
                answers = module.expected(draw.inputs, draw.shape)
        except (RuntimeError, ValueError, IndexError):  # without this stage the rest cannot go on
            return None
        return answers if len(mode.names) > index else None

    return make
