"""C++ kernels, compiled on first use for the machine they run on."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .buffers import Layout, result
from .sizes import Unfit


class CppKernel:
    def __init__(self, spec: Mapping[str, Any], data: Mapping[str, Any], folder: Path) -> None:
        self._spec = spec
        self._sources: list[str] = data["sources"]
        self._flags: list[str] = data["flags"]
        self._folder = folder / data["folder"]
        self._lock = threading.Lock()
        self._call: Any = None
        self._failure = ""
        self._updates = any(one["in_place"] for one in spec["inputs"])

    def plan(self, tensors: Sequence[Any], sizes: Mapping[str, int]) -> CppPlan:
        return CppPlan(self._spec, self._loaded(), tensors, sizes, updates=self._updates)

    def _loaded(self) -> Any:
        """A failed build is remembered, so that it is tried once per process."""
        with self._lock:
            if self._failure:
                raise Unfit(self._failure)
            if self._call is None:
                try:
                    library = ctypes.CDLL(str(self._build()))
                except (OSError, subprocess.SubprocessError) as error:
                    self._failure = f"the kernel could not be built: {error}"
                    raise Unfit(self._failure) from error
                library.ke_call.restype = ctypes.c_int
                self._call = library.ke_call
            return self._call

    def _build(self) -> Path:
        compiler = os.environ.get("CXX", "g++")
        flags = [word for flag in self._flags for word in _expanded(flag)]
        names = [*self._sources, "ke_abi.h"]
        texts = (f"{name}\n{(self._folder / name).read_text()}" for name in names)
        parts = [compiler, *flags, platform.machine(), _processor(), *texts]
        target = _cache(self._folder) / (hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24] + ".so")
        if target.exists():
            return target
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            built = Path(folder) / "kernel.so"
            command = [compiler, *flags, "-shared", "-include", "ke_abi.h", "-I.", *self._sources, "-o", str(built)]
            finished = subprocess.run(
                command, cwd=self._folder, capture_output=True, text=True, timeout=300, check=False
            )  # fmt: skip
            if finished.returncode != 0:
                raise OSError(f"{compiler} ended with {finished.returncode}: {finished.stderr.strip()[:500]}")
            built.replace(target)
        return target


class CppPlan:
    """The arrays that the kernel's plain entry takes, filled anew in every call. Belongs to one thread."""

    def __init__(
        self, spec: Mapping[str, Any], function: Any, tensors: Sequence[Any], sizes: Mapping[str, int], *, updates: bool
    ) -> None:
        self._function = function
        self._updates = updates
        self._layout = Layout(spec, tensors, sizes)
        self._n = len(tensors) + len(spec["outputs"])
        self._pointers: Any = (ctypes.c_void_p * max(self._n, 1))()
        scalars = list(enumerate(one["scalar"] for one in spec["inputs"]))
        self._whole = [index for index, kind in scalars if kind and kind != "double"]
        self._real = [index for index, kind in scalars if kind == "double"]
        axes = [sizes[axis["name"]] for axis in spec["axes"]]
        count = len(self._whole) + len(axes)
        self._integers = (ctypes.c_int64 * max(count, 1))(*([0] * len(self._whole)), *axes)
        self._reals = (ctypes.c_double * max(len(self._real), 1))()

    def call(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Any:
        outputs = self._layout.outputs()
        self._pointers[: self._n] = self._layout.addresses(tensors, outputs)
        for at, index in enumerate(self._whole):
            self._integers[at] = int(inputs[index])
        for at, index in enumerate(self._real):
            self._reals[at] = float(inputs[index])
        code = self._function(self._pointers, self._integers, self._reals)
        if code != 0:
            if self._updates:
                raise RuntimeError(
                    f"the kernel refused a shape of its domain (code {code}); its in-place inputs may be half updated"
                )
            raise Unfit(f"the kernel refused this shape (code {code})")
        return result(outputs)


def _expanded(flag: str) -> list[str]:
    if flag != "{torch_include}":
        return [flag]
    include = Path(torch.__file__).parent / "include"
    return ["-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]


def _processor() -> str:
    """The library is built for this processor: another one needs another build."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features")))
    return platform.processor()


def _cache(folder: Path) -> Path:
    """Beside the kernel, or a folder of this user's own when that cannot be written."""
    beside = folder / ".built"
    with contextlib.suppress(OSError):
        beside.mkdir(exist_ok=True)
        if os.access(beside, os.W_OK):
            return beside
    private = Path.home() / ".cache" / "kernelevolve-exports"
    private.mkdir(parents=True, exist_ok=True, mode=0o700)
    return private
