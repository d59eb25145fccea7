"""The NVIDIA driver through ctypes: what GPU is there. Creates no context, so it costs next to nothing."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from kernelevolve.model.value import Value

LIBRARY = "libcuda.so.1"
_NAME_BYTES = 128
_ATTRIBUTES = {"n_cores": 16, "l2_bytes": 38, "major": 75, "minor": 76}
"""CUdevice_attribute numbers; they are ABI."""


class Gpu(Value):
    model: str
    n_cores: int
    l2_bytes: int
    memory_bytes: int
    major: int
    minor: int
    driver: str

    @property
    def architecture(self) -> str:
        """What code is compiled for: with the instructions of this very generation, as -march=native does."""
        return f"sm_{self.major}{self.minor}{'a' if self.major >= 9 else ''}"

    @property
    def isa(self) -> str:
        return f"sm_{self.major}{self.minor}"


def gpu() -> Gpu | None:
    """The first one that CUDA_VISIBLE_DEVICES leaves visible; None where there is none or no driver."""
    return _probe(os.environ.get("CUDA_VISIBLE_DEVICES", ""))


@cache
def _probe(_visible: str) -> Gpu | None:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    device, version, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(_NAME_BYTES)
    if library.cuInit(0) != 0 or library.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return None
    library.cuDriverGetVersion(ctypes.byref(version))
    library.cuDeviceGetName(name, _NAME_BYTES, device)
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    found: dict[str, int] = {}
    for key, number in _ATTRIBUTES.items():
        value = ctypes.c_int()
        library.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        found[key] = value.value
    return Gpu(
        model=name.value.decode(errors="replace"), memory_bytes=memory.value,
        driver=f"{version.value // 1000}.{version.value % 1000 // 10}", **found,
    )  # fmt: skip
