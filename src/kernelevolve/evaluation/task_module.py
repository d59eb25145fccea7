"""The task's own Python, loaded: the reference, the oracle and the input generator. Only judge processes do this."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.pitches import contiguous
from kernelevolve.model.task import FLOAT_DTYPES, Shape, Task, TensorSpec, evaluate_dim

Inputs = dict[str, Any]
"""Every input by name: a contiguous tensor, or an int or float for a scalar."""

ARMS_FILE = "baselines.py"
DEFAULT_SCALES = (3.0, 0.01, -1.0)


class TaskModule:
    """Functions of a task. Each raises TaskError when the task breaks its own declaration."""

    def __init__(self, task: Task, folder: Path, *, device: str = "cpu") -> None:
        """`device`: where inputs are made and references run."""
        self.task = task
        self.task_id = task.content_id  # worked out once: draws are made by the thousand
        self.device = device
        self._draws_on = device
        self._module = _load(task, folder)
        self.reference: Callable[..., Any] = self._function("reference")
        self._make_inputs = self._function("make_inputs")
        self._oracle: Callable[..., Any] = getattr(self._module, "oracle", self.reference)
        self.variants = tuple(getattr(self._module, "VARIANTS", ("nominal",)))
        default = DEFAULT_SCALES if task.rule.kind == "scaled" else ()
        self.arms: dict[str, Callable[..., Any]] = self._read_arms(folder)
        self.scales = tuple(float(scale) for scale in getattr(self._module, "SCALES", default))

    def _read_arms(self, folder: Path) -> dict[str, Callable[..., Any]]:
        """Other ways to compute the same that the task brings along to be compared with: `ARMS` in baselines.py, by
        name, called as the reference is. What an arm imports it imports when called: it may not be installed."""
        path = folder / ARMS_FILE
        if not path.exists():
            return {}
        found = getattr(_imported(self.task, path, f"{self.task.content_id[:12]}_arms"), "ARMS", None)
        if not isinstance(found, dict) or not all(isinstance(n, str) and callable(f) for n, f in found.items()):
            raise self._error(f"{ARMS_FILE} must define ARMS, functions by name")
        return found

    def make_inputs(self, shape: Shape, *, seed: int, variant: str = "nominal", scale: float = 1.0) -> Inputs:
        """Inputs for a shape, checked against the declaration. ValueError: the generator refuses this shape."""
        made = self._made(shape, seed, variant)
        if not isinstance(made, dict) or set(made) != {spec.name for spec in self.task.inputs}:
            raise self._error("make_inputs must return a dict with exactly the declared inputs")
        inputs = {spec.name: self._checked(spec, made[spec.name]) for spec in self.task.inputs}
        if scale != 1.0:
            for spec in self.task.inputs:
                if spec.dims and spec.dtype in FLOAT_DTYPES and not spec.static:
                    inputs[spec.name] = inputs[spec.name] * scale
        contiguous(self.task, inputs)  # refuses what no pitch is long enough for
        return inputs

    def _made(self, shape: Shape, seed: int, variant: str) -> Any:
        if self._draws_on != "cpu":
            try:
                with torch.device(self.device):
                    generator = torch.Generator(self.device).manual_seed(seed)
                    return self._make_inputs(dict(shape), generator, variant)
            except (RuntimeError, TypeError):  # written for the host only: slower, not wrong
                self._draws_on = "cpu"
        return self._make_inputs(dict(shape), torch.Generator().manual_seed(seed), variant)

    def sizes_for(self, function: Callable[..., Any], sizes: Mapping[str, int]) -> dict[str, int]:
        """The axes a function asks for by parameter name, for sizes that no input carries."""
        names = inspect.signature(function).parameters
        return {axis.name: sizes[axis.name] for axis in self.task.axes if axis.name in names}

    def expected(self, inputs: Inputs, shape: Shape) -> dict[str, torch.Tensor]:
        """What every written tensor must hold. Floating results of a scaled rule come from the float64 oracle."""
        exact = self.task.rule.kind == "bitwise"
        given = copy_inputs(inputs) if exact else {name: _upcast(value) for name, value in inputs.items()}
        results = self._call(self.reference if exact else self._oracle, given, shape)
        expected = {spec.name: given[spec.name] for spec in self.task.inputs if spec.in_place}
        for spec, result in zip(self.task.outputs, results, strict=True):
            if exact and str(result.dtype).removeprefix("torch.") != spec.dtype:
                raise self._error(f"output {spec.name} is {result.dtype}, declared {spec.dtype}")
            expected[spec.name] = result.contiguous()
        return expected

    def honest(self, inputs: Inputs, shape: Shape) -> dict[str, torch.Tensor]:
        """What the reference gives in the task's own dtype: how far off an honest kernel is."""
        given = copy_inputs(inputs)
        results = self._call(self.reference, given, shape)
        written = {spec.name: given[spec.name] for spec in self.task.inputs if spec.in_place}
        return written | {spec.name: result for spec, result in zip(self.task.outputs, results, strict=True)}

    def bind_sizes(self, shape: Shape, inputs: Inputs, expected: Mapping[str, torch.Tensor]) -> dict[str, int]:
        """Every axis' size: those of the shape, then those read off inputs and outputs, then pitches as of contiguous
        tensors. Checks all dims. ValueError: rows longer than a pitch may be."""
        sizes = dict(shape)
        arrays = [(spec, inputs[spec.name]) for spec in self.task.inputs if spec.dims]
        arrays += [(spec, expected[spec.name]) for spec in self.task.outputs]
        for spec, array in arrays:
            if len(spec.dims) != array.dim():
                raise self._error(f"{spec.name} has {array.dim()} dims, declared {len(spec.dims)}")
            for dim, size in zip(spec.dims, array.shape, strict=True):
                if dim not in sizes and dim.isidentifier():
                    sizes[dim] = int(size)
                if (wanted := evaluate_dim(dim, sizes)) != int(size):
                    raise self._error(f"{spec.name}: dim {dim} should be {wanted}, is {int(size)}")
        missing = [axis.name for axis in self.task.axes if axis.name not in sizes and axis.role != "pitch"]
        if missing:
            raise self._error(f"axis {missing[0]} cannot be read off any tensor")
        return sizes | contiguous(self.task, inputs)

    def _call(self, function: Callable[..., Any], inputs: Inputs, shape: Shape) -> tuple[torch.Tensor, ...]:
        with torch.no_grad(), torch.device(self.device):
            result = function(**inputs, **self.sizes_for(function, shape))
        results = () if result is None else result if isinstance(result, tuple | list) else (result,)
        if len(results) != len(self.task.outputs):
            raise self._error(f"the reference returned {len(results)} outputs, declared {len(self.task.outputs)}")
        return tuple(results)

    def _checked(self, spec: TensorSpec, value: Any) -> Any:
        if not spec.dims and not spec.in_place:
            return float(value) if spec.dtype in FLOAT_DTYPES else int(value)
        narrow = spec.dtype in ("float16", "bfloat16") and isinstance(value, torch.Tensor)
        if narrow and value.dtype == torch.float32:  # generators draw in float32 whatever the task's dtype
            value = value.to(getattr(torch, spec.dtype))
        if not isinstance(value, torch.Tensor) or str(value.dtype) != f"torch.{spec.dtype}":
            found = value.dtype if isinstance(value, torch.Tensor) else type(value).__name__
            raise self._error(f"make_inputs gives {spec.name} as {found}, declared {spec.dtype}")
        return value.to(self.device).contiguous()

    def _function(self, name: str) -> Callable[..., Any]:
        function = getattr(self._module, name, None)
        if not callable(function):
            raise self._error(f"no function {name}")
        return function  # type: ignore[no-any-return]

    def _error(self, fault: str) -> TaskError:
        return TaskError(self.task.name, [fault])


def copy_inputs(inputs: Inputs) -> Inputs:
    return {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}


def _upcast(value: Any) -> Any:
    """A copy, of tensors."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(torch.float64 if value.is_floating_point() else value.dtype, copy=True)


_FOLDERS: set[str] = set()


def _forget_other_tasks() -> None:
    """Another task's helper module must not stand in for one of the same name."""
    for name, module in sys.modules.copy().items():  # other threads import meanwhile
        file = getattr(module, "__file__", None) or ""
        if any(file.startswith(f"{folder}/") for folder in _FOLDERS):
            del sys.modules[name]


def _load(task: Task, folder: Path) -> ModuleType:
    """Write the task's files into `folder` and import the first of them."""
    for file in task.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
    _forget_other_tasks()
    _FOLDERS.add(str(folder))
    sys.path.insert(0, str(folder))
    try:
        return _imported(task, folder / task.files[0].path, task.content_id[:12])
    finally:
        sys.path.remove(str(folder))


def _imported(task: Task, path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ke_task_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - foreign code: whatever it raises is a fault of the task
        raise TaskError(task.name, [f"{path.name} cannot be loaded: {type(error).__name__}: {error}"]) from error
    return module
