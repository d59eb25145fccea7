"""What the dynamic naive rules look at: an honest kernel called in this process, for tests alone."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernelevolve.model.task import Shape, Task, TensorSpec, evaluate_dim
from kernelevolve.selftest.corpus import Entry
from kernelevolve.tasks import load_task
from tests.attacks.naive.__main__ import build_or_copy
from tests.attacks.naive.harness import bound_axes, load_library, load_module
from tests.honest.naive_rules import Run

Inputs = dict[str, Any]


class Watched:
    """An entry's kernel and its task's Python, loaded here."""

    def __init__(self, entry: Entry) -> None:
        self.task: Task = load_task(str(entry.task_folder), platform="cpu")
        self.module = load_module(entry.task_folder / "reference.py", f"reference_of_{entry.name}")
        self.file = str(entry.source)
        with tempfile.TemporaryDirectory() as name:
            built = build_or_copy(entry.source, entry.task_folder, entry.flags, Path(name))
            if built.suffix == ".so":
                self.prepare: Callable[..., Callable[[], Any]] = load_library(built, self.task)
            else:
                function = getattr(load_module(built, f"candidate_{entry.name}"), self.task.entry)
                self.prepare = lambda *arguments: lambda: function(*arguments)

    def make(self, shape: Shape, variant: str, scale: float = 1.0) -> Inputs:
        """Inputs in the declared dtypes; the scale multiplies what the judge's scales multiply."""
        inputs = self.module.make_inputs(dict(shape), torch.Generator().manual_seed(5), variant)
        for spec in self.task.inputs:
            if spec.dims:
                value = inputs[spec.name].to(getattr(torch, spec.dtype))
                scaled = value.is_floating_point() and not spec.static and scale != 1.0
                inputs[spec.name] = value * scale if scaled else value
        return inputs  # type: ignore[no-any-return]

    def written(self, function: Callable[..., Any], inputs: Inputs, shape: Shape) -> list[torch.Tensor]:
        """Everything the task declares as written, from a reference or an oracle; in-place tensors first."""
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        result = function(**inputs, **{name: shape[name] for name in names if name in shape})
        in_place = [inputs[spec.name] for spec in self.task.inputs if spec.in_place]
        return [*in_place, *(result if isinstance(result, tuple) else (result,))]

    def call(self, inputs: Inputs, shape: Shape) -> tuple[list[torch.Tensor], Callable[[], Any]]:
        """Outputs filled with NaN's bytes, one call; what was written, and the call for repeating."""
        sizes = bound_axes(self.task, shape, inputs)
        outputs = [poisoned(spec, sizes) for spec in self.task.outputs]
        axes = [sizes[axis.name] for axis in self.task.axes]
        call = self.prepare(*(inputs[spec.name] for spec in self.task.inputs), *outputs, *axes)
        returned = call()
        assert returned in (None, 0), f"refused with {returned}"
        return [inputs[spec.name] for spec in self.task.inputs if spec.in_place] + outputs, call

    def run(self, shape: Shape, variant: str) -> Run:
        inputs = self.make(shape, variant)
        wide = {name: double(value) for name, value in inputs.items()}
        moved = {name: displaced(value) for name, value in inputs.items()}
        used = {name: copied(value) for name, value in inputs.items()}
        calls: set[str] = set()
        sys.setprofile(
            lambda frame, *_: calls.add(frame.f_code.co_name) if frame.f_code.co_filename == self.file else None
        )
        try:
            written, call = self.call(used, shape)  # `call` holds addresses alone: `written` must outlive it
        finally:
            sys.setprofile(None)
        changed = any(differs(used[name], inputs[name]) for name in inputs)
        got = written[-1].clone()
        narrow = {name: copied(value) for name, value in inputs.items()}
        reference = [value.clone() for value in self.written(self.module.reference, narrow, shape)]
        return Run(
            got=got,
            again=self.call(moved, shape)[0][-1],
            oracle=self.written(getattr(self.module, "oracle", self.module.reference), wide, shape)[-1],
            reference=reference[-1],
            changed_inputs=changed,
            names=frozenset(calls),
            candidate_s=seconds(call),
            reference_s=seconds(lambda: self.written(self.module.reference, narrow, shape)),
        )


def observe(entry: Entry) -> list[Run]:
    """One run per variant named in the entry's options, twice the nominal one where it names none."""
    watched = Watched(entry)
    shape = watched.task.shapes.search[0]
    return [watched.run(shape, variant) for variant in entry.options.get("variants", ("nominal", "nominal"))]


def poisoned(spec: TensorSpec, sizes: dict[str, int]) -> torch.Tensor:
    shape = [evaluate_dim(dim, sizes) for dim in spec.dims]
    tensor = torch.empty(shape, dtype=getattr(torch, spec.dtype))
    tensor.view(torch.uint8).fill_(0xFF) if tensor.numel() else None
    return tensor


def displaced(value: Any) -> Any:
    """The same content, four elements further than an allocation starts."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value
    room = torch.empty(value.numel() + 4, dtype=value.dtype)[4:].view(value.shape)
    return room.copy_(value)


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def double(value: Any) -> Any:
    """A copy that shares nothing, floating values as float64."""
    return copied(value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value)


def differs(one: Any, other: Any) -> bool:
    return not (torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other)


def seconds(call: Callable[[], Any]) -> float:
    """The shortest of a few calls."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)
