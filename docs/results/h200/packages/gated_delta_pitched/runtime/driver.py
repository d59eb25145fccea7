"""The NVIDIA driver through ctypes. There is no compiler here: machine code is loaded and launched."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from .sizes import Unfit

LIBRARY = "libcuda.so.1"
MAX_DYNAMIC_SHARED = 8
RELAXED = 2
REFUSALS = (1, 2, 9, 98, 200, 400, 701, 720, 801)
"""Error codes of a launch that was not started, against those that report what earlier work did."""
_CALLS = (
    "cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuModuleLoadData",
    "cuModuleGetFunction", "cuFuncSetAttribute", "cuFuncGetParamInfo", "cuLaunchKernel", "cuGetErrorName",
    "cuThreadExchangeStreamCaptureMode",
)  # fmt: skip


class Driver:
    """Raises Unfit where there is no driver."""

    def __init__(self, name: str = LIBRARY) -> None:
        try:
            library = ctypes.CDLL(name)
            for name in _CALLS:
                getattr(library, name).restype = ctypes.c_int
        except (OSError, AttributeError) as error:
            raise Unfit(f"no NVIDIA driver: {error}") from None
        library.cuLaunchKernel.argtypes = [
            ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        ]  # fmt: skip
        self._library: Any = library
        self.launch: Any = library.cuLaunchKernel
        self.must("cuInit", 0)

    def must(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise Unfit(f"{name}: {self.name_of(code)}")

    def name_of(self, code: int) -> str:
        text = ctypes.c_char_p()
        found = self._library.cuGetErrorName(code, ctypes.byref(text)) == 0 and text.value
        return found.decode() if found else f"CUDA error {code}"

    def use_primary_context(self, device: int) -> None:
        """A thread that has not used the device yet has no context; torch's is the primary one."""
        context, handle = ctypes.c_void_p(), ctypes.c_int()
        self.must("cuCtxGetCurrent", ctypes.byref(context))
        if not context.value:
            self.must("cuDeviceGet", ctypes.byref(handle), device)
            self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
            self.must("cuCtxSetCurrent", context)

    @contextlib.contextmanager
    def outside_capture(self) -> Iterator[None]:
        """While torch captures a graph, what is done in here is no part of it and is not forbidden by it."""
        mode = ctypes.c_int(RELAXED)
        self.must("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        try:
            yield
        finally:
            self.must("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def load(self, image: bytes) -> Any:
        """A module in the current context."""
        module = ctypes.c_void_p()
        self.must("cuModuleLoadData", ctypes.byref(module), image)
        return module

    def function(self, module: Any, name: str) -> Any:
        """Loaded whole: a driver that puts that off to the first launch may have to wait for the device then."""
        function = ctypes.c_void_p()
        self.must("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if (load := getattr(self._library, "cuFuncLoad", None)) is not None:
            load(function)
        return function

    def allow_shared(self, function: Any, n_bytes: int) -> None:
        self.must("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, n_bytes)

    def parameter_bytes(self, function: Any) -> list[int]:
        found: list[int] = []
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        ask = self._library.cuFuncGetParamInfo
        while ask(function, ctypes.c_size_t(len(found)), ctypes.byref(offset), ctypes.byref(size)) == 0:
            found.append(size.value)
        return found


def raw_stream(device: int) -> int:
    """torch's current stream there."""
    return int(torch.cuda.current_stream(device).cuda_stream)


class Machine:
    """What a plan needs besides memory: the driver, and what torch says of devices and streams."""

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise Unfit("torch sees no CUDA device")
        self.driver = Driver()
        self.on_device: Callable[[int], Any] = torch.cuda.device
        # Both without torch's own checks where it has such a form: they are on every call's way.
        self.current_device: Callable[[], int] = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
        self.stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", raw_stream)


@cache
def machine() -> Machine:
    return Machine()


class Modules:
    """Kernels loaded once per device."""

    def __init__(self, folder: Path, kernels: Sequence[Mapping[str, str]]) -> None:
        self._folder = folder
        self._kernels = kernels
        self._lock = threading.Lock()
        self._found: dict[int, list[Any] | str] = {}

    def functions(self, driver: Driver, device: int) -> list[Any]:
        """In the order of the plan's kernels, for the current device. Raises Unfit; a failure is remembered."""
        with self._lock:
            if device not in self._found:
                try:
                    self._found[device] = self._load(driver)
                except (Unfit, OSError) as error:
                    self._found[device] = f"the machine code does not load: {error}"
            found = self._found[device]
        if isinstance(found, str):
            raise Unfit(found)
        return found

    def _load(self, driver: Driver) -> list[Any]:
        with driver.outside_capture():
            files = {name: (self._folder / name).read_bytes() for name in {one["cubin"] for one in self._kernels}}
            modules = {name: driver.load(image) for name, image in files.items()}
            return [driver.function(modules[one["cubin"]], one["function"]) for one in self._kernels]
