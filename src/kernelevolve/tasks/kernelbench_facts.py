"""Examines a KernelBench problem by running it. Only ever imported by the confined child process.

Besides names, shapes and dtypes it finds out whether the problem can be judged honestly: the answer must be
finite, depend on the inputs, and depend on nothing but the inputs.
"""

from __future__ import annotations

import inspect
import time
from types import ModuleType
from typing import Any

import torch

from kernelevolve.model.task import DTYPE_BYTES
from kernelevolve.tasks.consistency import default_rule
from kernelevolve.tasks.kernelbench_support import Problem, build, drawn_arguments, flatten

SCALES = (3.0, 0.01, -1.0)
Values = dict[str, Any]
Outputs = tuple[torch.Tensor, ...]


class Unsuitable(Exception):
    """The problem runs, yet cannot become a task; the message is the fault."""


class Examination:
    """One problem under test: `evaluate` is forward as a pure function of every input by name."""

    def __init__(self, module: ModuleType, deadline: float) -> None:
        self.module = module
        self.deadline = deadline
        model = build(module, 0)
        if not isinstance(model, torch.nn.Module):
            raise Unsuitable("class Model is not a torch.nn.Module")
        values = drawn_arguments(module, _rng(1))
        self.arguments = [_spec(name, value) for name, value in _named_arguments(model, values)]
        self.parameters = {path: _spec(path, value) for path, value in model.named_parameters()}
        self.buffers = {path: _spec(path, value) for path, value in model.named_buffers()}
        self.spread = {path: _spread(value) for path, value in model.named_parameters()}
        self.problem = self._problem()

    def _problem(self) -> Problem:
        return Problem(
            self.module,
            dtypes={spec["name"]: "" if spec["number"] else spec["dtype"] for spec in self.arguments},
            parameters={f"p {path}": (path, *self.spread[path]) for path in self.parameters},
            buffers={f"b {path}": path for path in self.buffers},
        )

    def draw(self, seed: int, variant: str = "nominal", scale: float = 1.0) -> Values:
        values = self.problem.make_inputs(_rng(seed), variant)
        for spec in self.arguments:
            value = values[spec["name"]]
            if isinstance(value, torch.Tensor) and list(value.shape) != spec["shape"]:
                raise Unsuitable("get_inputs gives other shapes when called again; a task has fixed shapes")
            if isinstance(value, torch.Tensor) and value.is_floating_point() and scale != 1.0:
                values[spec["name"]] = value * scale
        return values

    def call(self, values: Values) -> tuple[tuple[Any, ...], dict[str, torch.Tensor]]:
        """The arguments of forward and the state, as `Problem.run` takes them."""
        arguments = tuple(_tensor(spec, values[spec["name"]]) for spec in self.arguments)
        state = {path: _tensor(spec, values[f"p {path}"]) for path, spec in self.parameters.items()}
        state |= {path: _tensor(spec, values[f"b {path}"]) for path, spec in self.buffers.items()}
        return arguments, state

    def evaluate(self, values: Values) -> Outputs:
        outputs = flatten(self.problem.run(*self.call(values)))
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                raise Unsuitable(f"forward returns a {type(output).__name__}; only tensors can be compared")
        return tuple(output.detach().clone() for output in outputs)

    def difference(self, got: Outputs, expected: Outputs) -> float:
        """The largest deviation in units of what the default rule allows."""
        rule = default_rule([str(output.dtype).removeprefix("torch.") for output in expected])
        worst = 0.0
        for ours, theirs in zip(got, expected, strict=True):
            if not theirs.is_floating_point():
                worst = max(worst, 0.0 if torch.equal(ours, theirs) else float("inf"))
            elif theirs.numel():
                a, b = ours.double(), theirs.double()
                allowed = rule.rtol * b.abs() + rule.rms * b.square().mean().sqrt()
                ratio = torch.where(a == b, 0.0, (a - b).abs() / allowed).nan_to_num(nan=float("inf"))
                worst = max(worst, float(ratio.max()))
        return worst

    def check_purity(self, values: Values, first: Outputs) -> None:
        """The answer depends on nothing but the inputs, and computing it changes none of them."""
        arguments, state = self.call(values)
        copies = [_copy(value) for value in arguments], {path: _copy(value) for path, value in state.items()}
        self.problem.run(arguments, state)
        for spec, value, copy in zip(self.arguments, arguments, copies[0], strict=True):
            if not _same(value, copy):
                raise Unsuitable(f"forward changes its argument {spec['name']}; it must leave its inputs alone")
        changed = [path for path, value in state.items() if not _same(value, copies[1][path])]
        if kept := [path for path in changed if path in self.parameters]:
            raise Unsuitable(f"forward changes its parameter {kept[0]}; it must leave its parameters alone")
        if self.difference(self.evaluate(values), first) > 0.5:
            raise Unsuitable("forward gives two answers for the same inputs (dropout while training?); switch it off")
        self._drop_statistics(changed, values, first)
        own = self.problem.model
        self.problem.model = build(self.module, 1)
        if self.difference(self.evaluate(values), first) > 0.5:
            raise Unsuitable(
                "the answer depends on random values that are neither inputs, parameters nor buffers; "
                "make them nn.Parameter or register_buffer"
            )
        self.problem.model = own

    def _drop_statistics(self, changed: list[str], values: Values, first: Outputs) -> None:
        """Buffers forward only writes, as batch norm's running statistics, are no inputs."""
        for path in changed:
            del self.buffers[path]
        self.problem = self._problem()
        with torch.no_grad():
            for path in changed:
                self.problem.model.get_buffer(path).add_(1)
        if changed and self.difference(self.evaluate(values), first) > 0.5:
            raise Unsuitable(f"forward carries state in the buffer {changed[0]} from call to call")

    def precision(self, values: Values, first: Outputs) -> float | None:
        """How far the problem's own answer is from float64, in units of the rule; None: float64 does not work."""
        try:
            wide = flatten(self.problem.run_double(*self.call(values)))
        except Exception:  # noqa: BLE001  the problem's code may raise anything
            return None
        return self.difference(
            first, tuple(output.detach().to(own.dtype) for output, own in zip(wide, first, strict=True))
        )

    def make_parameters_matter(self, values: Values) -> None:
        """Draw a parameter wider where its starting value would pass in its place."""
        for path in self.parameters:
            mean, spread = self.spread[path]
            for factor in (1.0, 10.0, 100.0):
                if time.monotonic() > self.deadline:
                    return
                tried = {**values, f"p {path}": (values[f"p {path}"] - mean) * factor + mean}
                plain = values[f"p {path}"] * 0 + mean
                with_it, without = self.evaluate(tried), self.evaluate({**tried, f"p {path}": plain})
                if _finite(with_it) and self.difference(with_it, without) > 10:
                    self.spread[path] = (mean, spread * factor)
                    break
        self.problem = self._problem()

    def usable(self) -> tuple[list[str], list[float]]:
        """The input variants and scales for which the answer is finite."""
        variants = [name for name in ("nominal", "normal") if _finite(self.evaluate(self.draw(3, name)))]
        scales = [s for s in SCALES if all(_finite(self.evaluate(self.draw(3, name, s))) for name in variants)]
        return variants, scales

    def check_dependence(self, variants: list[str], scales: list[float]) -> None:
        first = self.evaluate(self.draw(11))
        others = [
            self.evaluate(self.draw(20 + index, variant, scale))
            for index, variant in enumerate(variants)
            for scale in (1.0, *scales)
        ]
        if all(self.difference(other, first) <= 1 for other in others):
            raise Unsuitable(
                "the answer is the same for all inputs within the tolerance; a kernel that ignores its input would pass"
            )


def examine(module: ModuleType, *, deadline: float) -> dict[str, Any]:
    """Everything needed to write the task. Raises Unsuitable, and whatever the problem's code raises.
    `deadline` (time.monotonic) only cuts the optional part short."""
    examination = Examination(module, deadline)
    values = examination.draw(3)
    first = examination.evaluate(values)
    outputs = [_spec("", output) for output in first]
    if not _finite(first):
        raise Unsuitable("the answer is not finite for the problem's own inputs")
    examination.check_purity(values, first)
    examination.make_parameters_matter(values)
    variants, scales = examination.usable()
    if "nominal" not in variants:
        raise Unsuitable("the answer is not finite for parameters other than the initial ones")
    examination.check_dependence(variants, scales)
    values = examination.draw(4)
    own_error = examination.precision(values, examination.evaluate(values))
    return {
        "arguments": examination.arguments,
        "parameters": [
            {**spec, "mean": _short(examination.spread[path][0]), "spread": _short(examination.spread[path][1])}
            for path, spec in examination.parameters.items()
        ],
        "buffers": list(examination.buffers.values()),
        "outputs": outputs,
        "variants": variants,
        "scales": scales,
        "own_error": own_error if own_error is None else min(own_error, 1e9),
    }


def _rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _named_arguments(model: Any, values: list[Any]) -> list[tuple[str, Any]]:
    signature = inspect.signature(model.forward)
    try:
        bound = signature.bind(*values).arguments
    except TypeError as error:
        raise Unsuitable(f"get_inputs gives {len(values)} values, which forward does not take: {error}") from error
    named: list[tuple[str, Any]] = []
    for name, value in bound.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            named += [(f"{name}{index}", item) for index, item in enumerate(value)]
        else:
            named.append((name, value))
    return named


def _spec(name: str, value: Any) -> dict[str, Any]:
    label = f"{name or 'the output'}"
    if isinstance(value, bool | int | float):
        dtype = {bool: "bool", int: "int64", float: "float64"}[type(value)]
        return {"name": name, "dtype": dtype, "shape": [], "number": True}
    if not isinstance(value, torch.Tensor):
        raise Unsuitable(f"{label} is a {type(value).__name__}; only tensors and plain numbers can be passed on")
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in DTYPE_BYTES or value.layout != torch.strided or value.device.type != "cpu":
        raise Unsuitable(f"{label} is a {value.layout} tensor of {dtype} on {value.device.type}, which has no C type")
    return {"name": name, "dtype": dtype, "shape": list(value.shape), "number": False}


def _tensor(spec: dict[str, Any], value: Any) -> Any:
    """A tensor without dims travels as a number; this is the way back."""
    if spec["number"] or isinstance(value, torch.Tensor):
        return value
    return torch.tensor(value, dtype=getattr(torch, spec["dtype"]))


def _spread(parameter: torch.Tensor) -> tuple[float, float]:
    """Mean and standard deviation to draw with: the initial ones, widened where all values start alike."""
    values = parameter.detach().double()
    mean = float(values.mean()) if values.numel() else 0.0
    deviation = float(values.std(correction=0)) if values.numel() else 0.0
    return mean, deviation if deviation > 1e-6 * max(abs(mean), 1e-6) else 0.25 * max(abs(mean), 1.0)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _same(value: Any, copy: Any) -> bool:
    return not isinstance(value, torch.Tensor) or bool(((value == copy) | (value != value)).all())


def _finite(outputs: Outputs) -> bool:
    return all(bool(torch.isfinite(output).all()) for output in outputs if output.is_floating_point())


def _short(value: float) -> float:
    """Three digits: the same on every machine, whatever the last bits are."""
    return float(f"{value:.3g}")
