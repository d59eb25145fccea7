"""Memory the judge owns and a child process maps: slots of tensors with guard bands around every one of them.

A slot holds one full set of arguments. Outputs are poisoned with 0xFF before a call (NaN for floats, -1 for
integers), guard bands hold 0xA5; both are looked at after it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelevolve.model.task import TensorSpec

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
GUARD = 256
ALIGN = 64
POISON = 0xFF
BAND = 0xA5


@dataclass(frozen=True, kw_only=True)
class Region:
    """Where one tensor lies, in bytes from the start of the arena."""

    offset: int
    n_bytes: int


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Regions of one slot by tensor name, for tensors of at most these sizes."""

    regions: Mapping[str, Region]
    n_bytes: int

    def start(self, slot: int, name: str) -> int:
        """Where a tensor of a slot lies, in bytes from the start of the arena."""
        return slot * self.n_bytes + self.regions[name].offset

    @staticmethod
    def of(sizes: Mapping[str, int]) -> Layout:
        """Lay tensors out one after the other, a guard band before and after each."""
        regions, at = {}, 0
        for name, n_bytes in sizes.items():
            at += GUARD
            regions[name] = Region(offset=at, n_bytes=n_bytes)
            at += -(-n_bytes // ALIGN) * ALIGN + GUARD
        return Layout(regions=regions, n_bytes=-(-at // 4096) * 4096)


class Arena:
    """One shared memory file. The descriptor is handed to a child; the judge keeps its own mapping."""

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = max(n_bytes, 4096)
        self.fd = os.memfd_create("ke-arena", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, self.n_bytes)
        self._map = mmap.mmap(self.fd, self.n_bytes)
        self.bytes: Bytes = np.frombuffer(self._map, dtype=np.uint8)

    def close(self) -> None:
        self.bytes = np.empty(0, dtype=np.uint8)
        with contextlib.suppress(BufferError):  # a view is still alive; the mapping goes when it does
            self._map.close()
        os.close(self.fd)

    def wipe(self) -> None:
        """Leave nothing of whoever worked here before."""
        self.bytes[:] = POISON

    def view(self, slot: int, layout: Layout, name: str, n_bytes: int) -> Bytes:
        """The first `n_bytes` of a tensor in a slot, writable."""
        start = layout.start(slot, name)
        return self.bytes[start : start + n_bytes]

    def prepare(
        self,
        slot: int,
        layout: Layout,
        contents: Mapping[str, Bytes],
        outputs: Mapping[str, int],
        *,
        poison: bool = True,
    ) -> None:
        """Fill a slot: bands everywhere, then the inputs' bytes, then poison where outputs will be."""
        for name in layout.regions:
            at = layout.start(slot, name)
            self.bytes[at - GUARD : at] = BAND
        for name, n_bytes in [(name, data.nbytes) for name, data in contents.items()] + list(outputs.items()):
            end = layout.start(slot, name) + n_bytes
            self.bytes[end : end + GUARD] = BAND
        for name, data in contents.items():
            self.view(slot, layout, name, data.nbytes)[:] = data
        for name, n_bytes in outputs.items() if poison else ():
            self.view(slot, layout, name, n_bytes)[:] = POISON

    def trespasses(self, slot: int, layout: Layout, sizes: Mapping[str, int]) -> str | None:
        """The tensor beside which a guard band was overwritten, or None."""
        for name, n_bytes in sizes.items():
            at = layout.start(slot, name)
            before, after = self.bytes[at - GUARD : at], self.bytes[at + n_bytes : at + n_bytes + GUARD]
            if (before != BAND).any() or (after != BAND).any():
                return name
        return None


def tensor_specs(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> list[TensorSpec]:
    """The specs that travel as pointers, in the order of the ABI."""
    return [spec for spec in inputs if spec.dims or spec.in_place] + list(outputs)
