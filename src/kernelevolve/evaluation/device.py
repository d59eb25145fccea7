"""A device as the judge sees it: memory that other processes can map, and a few numbers.

Members: `CudaDevice`, and `HostDevice`, which has no device at all and lets all of the judge be tested without one.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch

from kernelevolve.errors import MachineError
from kernelevolve.evaluation.device_watch import GAP_NS, CudaWatch, Watch

HANDLE_BYTES = 64
IPC_LAZY_PEER = 1
FLUSH_FACTOR = 3
"""Times the second-level cache that is written, then read, to make it forget."""


class Memory(Protocol):
    """`handle`: 64 bytes in hex by which another process maps it. `bytes`: uint8 tensor over all of it."""

    handle: str
    bytes: torch.Tensor

    def close(self) -> None: ...


class Device(Protocol):
    name: str
    """For torch."""
    l2_bytes: int
    memory_bytes: int

    def allocate(self, n_bytes: int) -> Memory:
        """Raises MachineError."""
        ...

    def synchronize(self) -> None: ...

    def free_bytes(self) -> int:
        """Memory that nobody has."""
        ...

    def watched(self) -> AbstractContextManager[Watch]:
        """See `CudaWatch.watched`: afterwards the watch says whether the device worked for anybody else meanwhile."""
        ...

    def flush(self) -> None:
        """Empty its caches, not waited for."""
        ...


class _Handle(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_char * HANDLE_BYTES),)


class _Span:
    """Device memory by address, in the form that `torch.as_tensor` takes without a copy."""

    def __init__(self, address: int, n_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (n_bytes,), "typestr": "|u1", "data": (address, False), "version": 3, "strides": None,
        }  # fmt: skip


def _driver() -> ctypes.CDLL:
    torch.empty(1, device="cuda")  # the context all of torch works in is current now
    return ctypes.CDLL("libcuda.so.1")


def host_path(handle: str) -> Path | None:
    """Where the memory of a `HostDevice` lies; None for a device's."""
    raw = bytes.fromhex(handle)
    return Path(raw.rstrip(b"\0").decode()) if raw.startswith(b"/proc/") else None


def mapped(handle: str, n_bytes: int) -> torch.Tensor:
    """uint8 tensor [n_bytes] over another process' device memory, by its handle. Raises MachineError."""
    address = ctypes.c_uint64()
    if (path := host_path(handle)) is not None:
        with path.open("r+b") as file:
            return torch.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype=torch.uint8)
    raw = _Handle.from_buffer_copy(bytes.fromhex(handle))
    code = _driver().cuIpcOpenMemHandle_v2(ctypes.byref(address), raw, IPC_LAZY_PEER)
    if code != 0:
        raise MachineError(f"the judge's device memory cannot be mapped (CUDA error {code})")
    return torch.as_tensor(_Span(address.value, n_bytes), device="cuda")


def apart(data: torch.Tensor) -> torch.UntypedStorage:
    """A storage of its own over the bytes of `data`, uint8 on a CUDA device: torch.compile takes tensors that share a
    storage for views of each other and refuses to change one of them in place when their dtypes differ. Its owner must
    outlive it."""
    return torch.as_tensor(_Span(data.data_ptr(), data.numel()), device=data.device).untyped_storage()


class _CudaMemory:
    def __init__(self, n_bytes: int) -> None:
        self._driver = _driver()
        address = ctypes.c_uint64()
        if (code := self._driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(n_bytes))) != 0:
            raise MachineError(f"no device memory for {n_bytes} bytes of tensors (CUDA error {code})")
        self._address = address
        raw = _Handle()
        if (code := self._driver.cuIpcGetMemHandle(ctypes.byref(raw), address)) != 0:
            raise MachineError(f"device memory cannot be shared between processes here (CUDA error {code})")
        self.handle = bytes(raw).hex()
        self.bytes = torch.as_tensor(_Span(address.value, n_bytes), device="cuda")

    def close(self) -> None:
        self.bytes = torch.empty(0, dtype=torch.uint8)
        torch.cuda.synchronize()
        self._driver.cuMemFree_v2(self._address)


class CudaDevice:
    name = "cuda"

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise MachineError("no NVIDIA GPU that this torch can use; see kernelevolve doctor")
        facts = torch.cuda.get_device_properties(0)
        self.l2_bytes, self.memory_bytes = int(facts.L2_cache_size), int(facts.total_memory)
        # Answers and honest errors come from full precision.
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self._watch: CudaWatch | None = None
        self._flushed: list[torch.Tensor] = []

    def allocate(self, n_bytes: int) -> Memory:
        return _CudaMemory(n_bytes)

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def free_bytes(self) -> int:
        return int(torch.cuda.mem_get_info()[0])

    def watched(self) -> AbstractContextManager[Watch]:
        if self._watch is None:
            self._watch = CudaWatch()
        return self._watch.watched()

    def flush(self) -> None:
        """Writes one buffer, then reads another: nothing that waits to be written back is left to whoever comes next.
        The first time it takes the memory for it, which no watch allows."""
        if not self._flushed:
            n_words = FLUSH_FACTOR * self.l2_bytes // 4
            self._flushed = [torch.zeros(n_words, dtype=torch.int32, device="cuda") for _ in range(2)]
        self._flushed[0].add_(1)
        self._flushed[1].sum()


class _HostMemory:
    def __init__(self, n_bytes: int) -> None:
        self._fd = os.memfd_create("ke-device", os.MFD_CLOEXEC)
        os.ftruncate(self._fd, n_bytes)
        self._map: Any = mmap.mmap(self._fd, n_bytes)
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)
        path = f"/proc/{os.getpid()}/fd/{self._fd}".encode()
        self.handle = path.ljust(HANDLE_BYTES, b"\0").hex()

    def close(self) -> None:
        self.bytes = torch.empty(0, dtype=torch.uint8)
        os.close(self._fd)


class HostDevice:
    name = "cpu"
    l2_bytes = 2**16
    memory_bytes = 2**30

    def __init__(self, gap_ns: Callable[[], int] = lambda: 0) -> None:
        """`gap_ns`: the worst gap that the next watch will have seen."""
        self._gap_ns = gap_ns

    def allocate(self, n_bytes: int) -> Memory:
        return _HostMemory(n_bytes)

    def synchronize(self) -> None:
        return

    def free_bytes(self) -> int:
        return self.memory_bytes

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        watch = Watch()
        yield watch
        watch.worst_gap_ns = self._gap_ns()
        watch.n_gaps = int(watch.worst_gap_ns > GAP_NS)

    def flush(self) -> None:
        return
