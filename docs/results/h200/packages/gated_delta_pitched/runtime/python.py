"""Kernels that are Python modules: called on the tensors themselves, in the process that imports the package."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from .buffers import Layout, result
from .sizes import Unfit


class PythonKernel:
    def __init__(self, spec: Mapping[str, Any], data: Mapping[str, Any], folder: Path) -> None:
        self._spec = spec
        self._paths = [folder / data["folder"] / name for name in data["modules"]]
        self._entry: str = data["entry"]
        self._lock = threading.Lock()
        self._function: Callable[..., Any] | None = None
        self._failure = ""

    def plan(self, tensors: Sequence[Any], sizes: Mapping[str, int]) -> PythonPlan:
        return PythonPlan(self._spec, self._loaded(), tensors, sizes)

    def _loaded(self) -> Callable[..., Any]:
        """A module that does not load is remembered, so that it is tried once per process."""
        with self._lock:
            if self._failure:
                raise Unfit(self._failure)
            if self._function is None:
                try:
                    self._function = loaded(self._paths, self._entry)
                except Exception as error:  # whatever a module raises when it is loaded: the reference serves then
                    self._failure = f"the kernel could not be loaded: {type(error).__name__}: {error}"
                    raise Unfit(self._failure) from error
            return self._function


def loaded(paths: Sequence[Path], entry: str) -> Callable[..., Any]:
    """The entry point of the first file. While they are loaded the others can be imported by their names, as when the
    kernel was checked; afterwards the names are other people's again."""
    made = {path.stem: ModuleType(path.stem) for path in paths}
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        for path in [*paths[1:], paths[0]]:
            made[path.stem].__file__ = str(path)
            exec(compile(path.read_text(), str(path), "exec"), made[path.stem].__dict__)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    function: Callable[..., Any] = getattr(made[paths[0].stem], entry)
    return function


class PythonPlan:
    def __init__(
        self, spec: Mapping[str, Any], function: Callable[..., Any], tensors: Sequence[Any], sizes: Mapping[str, int]
    ) -> None:
        self._function = function
        self._layout = Layout(spec, tensors, sizes)
        self._updates = any(one["in_place"] for one in spec["inputs"])
        self._axes = [sizes[axis["name"]] for axis in spec["axes"]]
        self._device = tensors[0].device if tensors and tensors[0].is_cuda else None

    def call(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Any:
        if self._device is not None and torch.cuda.current_device() != self._device.index:
            with torch.cuda.device(self._device):
                return self._call(inputs, tensors)
        return self._call(inputs, tensors)

    def _call(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Any:
        outputs = self._layout.outputs()
        self._layout.addresses(tensors, outputs)  # raises Unfit for memory the kernel was not promised
        with torch.no_grad():
            try:
                code = self._function(*inputs, *outputs, *self._axes)
            except Exception as error:
                if self._updates:
                    raise  # its in-place inputs may be half updated: nobody may go on as if nothing had happened
                raise Unfit(f"the kernel raised {type(error).__name__}: {error}") from error
        if code is not None and code != 0:
            if self._updates:
                raise RuntimeError(f"the kernel refused a shape of its domain ({code!r}) after it may have written")
            raise Unfit(f"the kernel refused this shape ({code!r})")
        return result(outputs)
