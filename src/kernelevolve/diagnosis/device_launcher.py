"""Launches device code through the driver, for profilers: our own process, in which nothing of a candidate runs but
what runs on the device. Values and addresses as in the judge's runner; no clock, no comparison.
"""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path
from typing import Any

from kernelevolve.errors import MachineError
from kernelevolve.model.profile_job import ProfileArgument, ProfiledCandidate, ProfileJob, ProfileLaunch
from kernelevolve.platforms.cuda_rates import COPY_PTX
from kernelevolve.toolchains.libcuda import LIBRARY, gpu

COPY_BYTES = 256 * 2**20
"""What the copy that others are compared with reads: several times any second-level cache."""
COPY_KERNEL = "ke_copy"
COPY_THREADS, COPY_BLOCKS_PER_CORE = 256, 8
FLUSH_FACTOR = 3
POISON = 0xFF
ALIGN = 256
_MAX_DYNAMIC_SHARED, _SHARED_BY_DEFAULT = 8, 48 * 1024


class Launcher:
    """Use after nothing else in this process has made a context but the primary one. Raises MachineError."""

    def __init__(self, job: ProfileJob) -> None:
        found = gpu()
        if found is None:
            raise MachineError("no NVIDIA GPU or no driver: a profile needs one")
        self._job = job
        self._gpu = found
        self._library = ctypes.CDLL(LIBRARY)
        self._library.cuLaunchKernel.argtypes = [
            ctypes.c_void_p,
            *[ctypes.c_uint] * 7,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        self._functions: dict[tuple[str, str], ctypes.c_void_p] = {}
        context = ctypes.c_void_p()
        self._do("cuInit", 0)
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._do("cuCtxSetCurrent", context)
        self._arena = self._allocated(job.arena_bytes)
        content = Path(job.arena).read_bytes()
        self._inputs = self._allocated(len(content))
        self._do("cuMemcpyHtoD_v2", self._inputs, content, ctypes.c_size_t(len(content)))
        self._input_bytes = len(content)
        needed = max((sum(map(_padded, item.scratch)) for item in job.candidates), default=0)
        self._scratch_bytes = needed
        self._scratch = self._allocated(needed)
        self._flush_bytes = FLUSH_FACTOR * found.l2_bytes if job.cold else 0
        self._flush = self._allocated(self._flush_bytes)
        self._copy_from, self._copy_to = self._allocated(COPY_BYTES), self._allocated(COPY_BYTES)
        self._copy = self._function(COPY_PTX, COPY_KERNEL)

    def prepare(self) -> None:
        """Inputs as they were, scratch poisoned, caches as the task says."""
        self._do("cuMemcpyDtoD_v2", self._arena, self._inputs, ctypes.c_size_t(self._input_bytes))
        for address, n_bytes in ((self._scratch, self._scratch_bytes), (self._flush, self._flush_bytes)):
            if n_bytes:
                self._do("cuMemsetD8_v2", address, ctypes.c_ubyte(POISON), ctypes.c_size_t(n_bytes))
        self.wait()

    def load(self, candidate: ProfiledCandidate) -> None:
        """Its machine code onto the device, ahead of the calls."""
        for launch in candidate.launches:
            key = (launch.cubin, launch.function)
            if key not in self._functions:
                self._functions[key] = self._function(Path(launch.cubin).read_bytes(), launch.function)
            if launch.shared_bytes > _SHARED_BY_DEFAULT:
                self._do("cuFuncSetAttribute", self._functions[key], _MAX_DYNAMIC_SHARED, launch.shared_bytes)

    def call(self, candidate: ProfiledCandidate) -> None:
        """One call of a loaded candidate: its launches, in order. Does not wait."""
        starts, at = [], self._scratch.value
        for n_bytes in candidate.scratch:
            starts.append(at)
            at += _padded(n_bytes)
        for launch in candidate.launches:
            self._launch(launch, starts)

    def copy(self, *, times: int = 1) -> None:
        """The plain copy: what memory can do on this device, and what brings its clocks up."""
        values = [self._copy_to, self._copy_from, ctypes.c_uint64(COPY_BYTES), ctypes.c_uint64(times)]
        blocks = self._gpu.n_cores * COPY_BLOCKS_PER_CORE
        self._start(self._copy, (blocks, 1, 1), (COPY_THREADS, 1, 1), 0, values)

    def wait(self) -> None:
        self._do("cuCtxSynchronize")

    def watched(self, on: bool) -> None:
        """Tells a profiler that was started with its eyes closed to look, or to look away."""
        self._do("cuProfilerStart" if on else "cuProfilerStop")

    def _launch(self, launch: ProfileLaunch, scratch: list[int]) -> None:
        if len(launch.arguments) != len(launch.parameter_bytes):
            wanted, given = len(launch.parameter_bytes), len(launch.arguments)
            raise MachineError(f"{launch.kernel} takes {wanted} parameters, the plan gives {given}")
        values = [
            _value(argument, n_bytes, arena=self._arena.value, scratch=scratch)
            for argument, n_bytes in zip(launch.arguments, launch.parameter_bytes, strict=True)
        ]
        self._start(
            self._functions[launch.cubin, launch.function], launch.grid, launch.block, launch.shared_bytes, values
        )

    def _start(
        self,
        function: ctypes.c_void_p,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        shared_bytes: int,
        values: list[Any],
    ) -> None:
        pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
        self._do("cuLaunchKernel", function, *grid, *block, shared_bytes, None, ctypes.addressof(pointers), None)

    def _function(self, image: bytes, name: str) -> ctypes.c_void_p:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._do("cuModuleLoadData", ctypes.byref(module), image)
        self._do("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def _allocated(self, n_bytes: int) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        if n_bytes:
            self._do("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(n_bytes))
        return address

    def _do(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            raise MachineError(f"{name}: {(text.value or b'CUDA error').decode()} ({code})")


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // ALIGN) * ALIGN


def _value(argument: ProfileArgument, n_bytes: int, *, arena: int, scratch: list[int]) -> Any:
    """What the kernel reads, as wide as its parameter is. Must live until the launch has been made."""
    if argument.kind == "real" and n_bytes == 4:
        return ctypes.c_float(struct.unpack("<d", argument.value.to_bytes(8, "little"))[0])
    number = argument.value
    if argument.kind == "pointer":
        number += arena
    elif argument.kind == "scratch":
        number = scratch[number]
    mask = (1 << 8 * n_bytes) - 1
    return (ctypes.c_uint8 * n_bytes).from_buffer_copy((number & mask).to_bytes(n_bytes, "little"))
