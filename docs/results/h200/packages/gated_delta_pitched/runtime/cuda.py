"""Kernels for an NVIDIA GPU: the launches of a plan, with torch's memory on torch's current stream."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .buffers import Layout, result
from .driver import REFUSALS, Driver, Machine, Modules, machine
from .sizes import Expression, Unfit

SCRATCH_ALIGNMENT = 256
MAX_SIZE = 2**32 - 1
DEFAULT_SHARED = 48 * 1024


class CudaKernel:
    def __init__(self, spec: Mapping[str, Any], data: Mapping[str, Any], folder: Path) -> None:
        self._spec = spec
        self._plan: dict[str, Any] = json.loads((folder / data["folder"] / "plan.json").read_text())
        self._modules = Modules(folder / data["folder"], self._plan["kernels"])

    def plan(self, tensors: Sequence[Any], sizes: Mapping[str, int]) -> CudaPlan:
        steps = resolve(self._plan, self._spec, sizes)
        here, device = machine(), tensors[0].device.index
        with here.on_device(device):
            here.driver.use_primary_context(device)
            functions = self._modules.functions(here.driver, device)
            return CudaPlan(self._spec, steps, functions, tensors, sizes, machine=here)


class Steps:
    """A plan at one set of sizes: plain numbers, and where in a call's values an argument is found."""

    def __init__(self, scratch: list[int], launches: list[dict[str, Any]]) -> None:
        self.scratch = scratch
        self.launches = launches


def resolve(plan: Mapping[str, Any], spec: Mapping[str, Any], sizes: Mapping[str, int]) -> Steps:
    """Touches no GPU. Raises Unfit where the plan cannot be launched at these sizes."""
    known = {**sizes, **plan["constants"]}
    scratch = [_size(item["bytes"], known, 0, 2**63) for item in plan["scratch"]]
    values = _places(plan, spec)
    launches = []
    for item in plan["launches"]:
        arguments = []
        for argument in item["args"]:
            place = values.get(argument["what"])
            if place is None:
                place = ("number", _size(argument["what"], known, -(2**63), 2**63 - 1))
            if place[0] == "number" and place[1] % argument["multiple"]:
                raise Unfit(f"{argument['what']} is {place[1]}, the kernel takes multiples of {argument['multiple']}")
            arguments.append((*place, argument["width"], argument["multiple"]))
        launches.append(
            {"kernel": item["kernel"], "grid": [_size(text, known, 1, MAX_SIZE) for text in item["grid"]],
             "block": [_size(text, known, 1, MAX_SIZE) for text in item["block"]],
             "shared": _size(item["shared_bytes"], known, 0, MAX_SIZE), "args": arguments}
        )  # fmt: skip
    return Steps(scratch, launches)


def _places(plan: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Name -> ("pointer", which of the tensors, outputs and scratch), or ("whole" or "real", which input)."""
    tensors = [one["name"] for one in spec["inputs"] if not one["scalar"]]
    tensors += [one["name"] for one in spec["outputs"]]
    named = {name: ("pointer", at) for at, name in enumerate(tensors)}
    for at, one in enumerate(spec["inputs"]):
        if one["scalar"]:
            named[one["name"]] = ("real" if one["scalar"] == "double" else "whole", at)
    scratch = {item["name"]: ("pointer", len(tensors) + at) for at, item in enumerate(plan["scratch"])}
    return {**named, **scratch}


def _size(text: str, sizes: Mapping[str, int], low: int, high: int) -> int:
    value = int(Expression(text).of(sizes))
    if not low <= value <= high:
        raise Unfit(f"'{text}' is {value}, must be {low}..{high}")
    return value


class CudaPlan:
    """Launches whose parameters lie in memory of our own: a call writes addresses there, then launches. Belongs to one
    thread."""

    def __init__(
        self, spec: Mapping[str, Any], steps: Steps, functions: Sequence[Any], tensors: Sequence[Any],
        sizes: Mapping[str, int], *, machine: Machine,
    ) -> None:  # fmt: skip
        self._machine = machine
        self._layout = Layout(spec, tensors, sizes)
        self._device: int = tensors[0].device.index
        self._offsets, self._scratch_bytes = _offsets(steps.scratch)
        self._n = len(tensors) + len(spec["outputs"])
        self._pointers: Any = (ctypes.c_uint64 * max(self._n + len(self._offsets), 1))()
        self._fills: list[Callable[[Sequence[Any]], None]] = []
        self._launches = [self._ready(machine.driver, one, functions[one["kernel"]]) for one in steps.launches]

    def call(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Any:
        if self._machine.current_device() != self._device:
            with self._machine.on_device(self._device):
                return self._call(inputs, tensors)
        return self._call(inputs, tensors)

    def _call(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Any:
        outputs = self._layout.outputs()
        n = self._n
        self._pointers[:n] = self._layout.addresses(tensors, outputs)
        scratch = None
        if self._scratch_bytes:  # given back to torch at the end of this function, in the order of the stream
            scratch = torch.empty(self._scratch_bytes, dtype=torch.uint8, device=self._layout.device)
            start = scratch.data_ptr()
            self._pointers[n:] = [start + offset for offset in self._offsets]
        for fill in self._fills:
            fill(inputs)
        stream = self._machine.stream(self._device)
        launch = self._machine.driver.launch
        for number, (function, sizes, parameters, _) in enumerate(self._launches):
            code = launch(function, *sizes, stream, parameters, None)
            if code != 0:
                name = self._machine.driver.name_of(code)
                if number == 0 and code in REFUSALS:
                    raise Unfit(f"the device refused the launch: {name}")
                raise RuntimeError(f"launch {number + 1} failed: {name}")
        return result(outputs)

    def _ready(self, known: Driver, item: Mapping[str, Any], function: Any) -> tuple[Any, list[int], Any, list[Any]]:
        n_bytes = known.parameter_bytes(function) or [4 if a[2] in ("i32", "f32") else 8 for a in item["args"]]
        if len(n_bytes) != len(item["args"]):
            raise Unfit(f"the kernel takes {len(n_bytes)} parameters, its plan has {len(item['args'])}")
        if item["shared"] > DEFAULT_SHARED:
            known.allow_shared(function, item["shared"])
        cells = [self._cell(argument, size) for argument, size in zip(item["args"], n_bytes, strict=True)]
        parameters = (ctypes.c_void_p * max(len(cells), 1))(*(address for address, _ in cells))
        return function, [*item["grid"], *item["block"], item["shared"]], parameters, [kept for _, kept in cells]

    def _cell(self, argument: tuple[str, int, str, int], n_bytes: int) -> tuple[int, Any]:
        """(address of the parameter's value, what must stay alive for it)."""
        kind, value, _, multiple = argument
        if kind == "pointer" and n_bytes == 8:
            return ctypes.addressof(self._pointers) + 8 * value, None
        if n_bytes not in (4, 8) or kind == "pointer":
            raise Unfit(f"a parameter has {n_bytes} bytes: pointers have 8, numbers 8 or 4")
        if kind == "number":
            if n_bytes == 4 and not -(2**31) <= value < 2**32:
                raise Unfit(f"{value} does not fit the 32 bits of a parameter")
            cell: Any = (ctypes.c_int64 if n_bytes == 8 else ctypes.c_uint32)(value)
        elif kind == "real":
            cell = (ctypes.c_double if n_bytes == 8 else ctypes.c_float)()
            self._fills.append(_real(cell, value))
        else:
            cell = (ctypes.c_int64 if n_bytes == 8 else ctypes.c_uint32)()
            self._fills.append(_whole(cell, value, n_bytes, multiple))
        return ctypes.addressof(cell), cell


def _real(cell: Any, at: int) -> Callable[[Sequence[Any]], None]:
    def fill(inputs: Sequence[Any]) -> None:
        cell.value = float(inputs[at])

    return fill


def _whole(cell: Any, at: int, n_bytes: int, multiple: int) -> Callable[[Sequence[Any]], None]:
    def fill(inputs: Sequence[Any]) -> None:
        value = int(inputs[at])
        if n_bytes == 4 and not -(2**31) <= value < 2**32:
            raise Unfit(f"{value} does not fit the 32 bits of a parameter")
        if value % multiple:
            raise Unfit(f"{value} is no multiple of {multiple}")
        cell.value = value

    return fill


def _offsets(scratch: Sequence[int]) -> tuple[list[int], int]:
    """Where each piece starts, and the bytes of all of them."""
    found, total = [], 0
    for n_bytes in scratch:
        found.append(total)
        total += -(-n_bytes // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
    return found, total
