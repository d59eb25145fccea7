"""Runs a KernelBench problem with every parameter passed in as an argument.

This file travels inside the task, beside the problem: the judge loads it, and so does the child process that
examines a problem. Nothing else imports it.
"""

from __future__ import annotations

import copy
import random
from types import ModuleType
from typing import Any

import torch
from torch.func import functional_call

Spread = tuple[float, float]
"""Mean and standard deviation a parameter is drawn with."""


def seeded(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


def build(problem: ModuleType, seed: int) -> Any:
    """The model as the problem makes it, in the mode it chooses (training, unless it says otherwise)."""
    initial = getattr(problem, "get_init_inputs", list)
    with torch.random.fork_rng(devices=[]):
        seeded(seed)
        return problem.Model(*initial())


def drawn_arguments(problem: ModuleType, rng: torch.Generator) -> list[Any]:
    """What get_inputs gives when its randomness comes from `rng`."""
    with torch.random.fork_rng(devices=[]):
        seeded(int(torch.randint(2**31 - 1, (), generator=rng)))
        return list(problem.get_inputs())


def flatten(outputs: Any) -> tuple[Any, ...]:
    """Nested tuples and lists as one flat tuple."""
    if isinstance(outputs, tuple | list):
        return tuple(leaf for item in outputs for leaf in flatten(item))
    return (outputs,)


def widen(value: Any) -> Any:
    """float64 in place of the other floating-point types."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


class Problem:
    """A model whose parameters and buffers come from outside.

    `dtypes`: the arguments of forward in order, "" for a plain number.
    `parameters`: input name -> (path in the model, mean, spread).
    `buffers`: input name -> path; their content is the model's own.
    """

    def __init__(
        self,
        problem: ModuleType,
        *,
        dtypes: dict[str, str],
        parameters: dict[str, tuple[str, float, float]],
        buffers: dict[str, str],
    ) -> None:
        self.problem = problem
        self.dtypes = dtypes
        self.parameters = parameters
        self.buffers = buffers
        self.model = build(problem, 0)
        self._double: Any = None
        # Looking for tied weights on each call costs more than a small model, and would flatter every candidate.
        every = list(self.model.named_parameters(remove_duplicate=False))
        self._tied = len(every) != len(list(self.model.named_parameters()))

    def make_inputs(self, rng: torch.Generator, variant: str) -> dict[str, Any]:
        """Every input by name. Parameters are drawn anew, so that a kernel which leaves one out is wrong even
        where the problem starts it at 0 or 1. Variant "normal": standard normal floating-point arguments. Variant
        "shipped": the problem's own arguments and initial parameters."""
        inputs = dict(zip(self.dtypes, drawn_arguments(self.problem, rng), strict=True))
        for name, value in inputs.items():
            if not isinstance(value, torch.Tensor):
                continue
            if variant == "normal" and value.is_floating_point() and value.dim():
                value = torch.randn(value.shape, generator=rng).to(value.dtype)
            inputs[name] = value.detach().contiguous() if value.dim() else value.item()
        for name, (path, mean, spread) in self.parameters.items():
            old = self.model.get_parameter(path)
            value = torch.randn(old.shape, generator=rng).mul_(spread).add_(mean).to(old.dtype)
            if variant == "shipped":
                value = old.detach().clone()
            inputs[name] = value if value.dim() else value.item()
        for name, path in self.buffers.items():
            value = self.model.get_buffer(path).detach().clone().contiguous()
            inputs[name] = value if value.dim() else value.item()
        return inputs

    def run(self, arguments: tuple[Any, ...], state: dict[str, torch.Tensor]) -> Any:
        """forward with the given parameters and buffers: one tensor, or a flat tuple of them."""
        outputs = (
            functional_call(self.model, state, arguments, tie_weights=self._tied) if state else self.model(*arguments)
        )
        return outputs if isinstance(outputs, torch.Tensor) else flatten(outputs)

    def run_double(self, arguments: tuple[Any, ...], state: dict[str, torch.Tensor]) -> Any:
        """The same in float64 throughout."""
        if self._double is None:
            self._double = copy.deepcopy(self.model).double()
        wide = {path: widen(value) for path, value in state.items()}
        outputs = functional_call(self._double, wide, tuple(widen(value) for value in arguments))
        return outputs if isinstance(outputs, torch.Tensor) else flatten(outputs)

    def run_single(self, arguments: tuple[Any, ...], state: dict[str, torch.Tensor]) -> Any:
        """For models that only work in their own precision: the arguments are rounded to it first."""
        own = {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}
        rounded = tuple(
            value.to(getattr(torch, dtype)) if dtype else value
            for value, dtype in zip(arguments, self.dtypes.values(), strict=True)
        )
        return self.run(rounded, {path: value.to(own[path].dtype) for path, value in state.items()})
