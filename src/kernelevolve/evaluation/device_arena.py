"""An arena in device memory: the judge's process owns it, the processes of candidates and baselines map it.

The same slots, bands and poison as in an `Arena`; what is written and looked at never leaves the device. A margin
before and after the whole catches what goes far astray.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernelevolve.evaluation.arena import BAND, GUARD, POISON, Layout
from kernelevolve.evaluation.device import Device, mapped

BLOCK = 2**21
MARGIN = 2**20
"""The runner and the baselines' process know it, too: the tensors start this far behind what the handle stands for."""


def opened(handle: str, n_bytes: int) -> torch.Tensor:
    """The slots of another process' arena of `n_bytes`, by its handle."""
    return mapped(handle, n_bytes + 2 * MARGIN)[MARGIN : MARGIN + n_bytes]


def fill(
    target: torch.Tensor,
    layout: Layout,
    contents: Mapping[str, Any],
    outputs: Mapping[str, int],
    *,
    poison: bool = True,
) -> None:
    """What a slot looks like before a call, written into `target`."""
    sizes = {name: int(data.nbytes) for name, data in contents.items()} | dict(outputs)
    at = 0
    for name, region in layout.regions.items():
        target[at : region.offset].fill_(BAND)  # from the end of the tensor before to the beginning of this one
        at = region.offset + sizes.get(name, 0)
    target[at:].fill_(BAND)
    for name, data in contents.items():
        begin = layout.regions[name].offset
        target[begin : begin + data.nbytes].copy_(torch.as_tensor(data))
    for name, n_bytes in outputs.items() if poison else ():
        begin = layout.regions[name].offset
        target[begin : begin + n_bytes].fill_(POISON)


class DeviceArena:
    fd = None

    def __init__(self, n_bytes: int, device: Device) -> None:
        self.n_bytes = max(n_bytes, 4096)
        # Whole blocks of the driver's: it shares a block whole, with whatever else it has put into its last part.
        self._memory = device.allocate(-(-(self.n_bytes + 2 * MARGIN) // BLOCK) * BLOCK)
        self.handle = self._memory.handle
        self._memory.bytes.fill_(BAND)
        self.bytes = self._memory.bytes[MARGIN : MARGIN + self.n_bytes]

    def close(self) -> None:
        self.bytes = torch.empty(0, dtype=torch.uint8)
        self._memory.close()

    def wipe(self) -> None:
        """Leave nothing of whoever worked here before."""
        self._memory.bytes.fill_(BAND)
        self.bytes.fill_(POISON)

    def view(self, slot: int, layout: Layout, name: str, n_bytes: int) -> torch.Tensor:
        """The first `n_bytes` of a tensor in a slot, writable."""
        start = layout.start(slot, name)
        return self.bytes[start : start + n_bytes]

    def prepare(
        self, slot: int, layout: Layout, contents: Mapping[str, Any], outputs: Mapping[str, int], *, poison: bool = True
    ) -> None:
        """Fill a slot: bands everywhere, then the inputs' bytes, then poison where outputs will be."""
        fill(self.slot(slot, layout), layout, contents, outputs, poison=poison)

    def slot(self, slot: int, layout: Layout) -> torch.Tensor:
        """All of a slot's bytes, bands included."""
        return self.bytes[slot * layout.n_bytes : (slot + 1) * layout.n_bytes]

    def strays(self, slot: int, layout: Layout, sizes: Mapping[str, int]) -> torch.Tensor:
        """0-dim bool, not waited for: whether anything was written where no tensor lies."""
        wrong = [(band != BAND).any() for name in sizes for band in self._bands(slot, layout, name, sizes[name])]
        return torch.stack(wrong).any()

    def margins_hold(self) -> torch.Tensor:
        """0-dim bool, not waited for."""
        before, after = self._memory.bytes[:MARGIN], self._memory.bytes[MARGIN + self.n_bytes :]
        return (before == BAND).all() & (after == BAND).all()

    def trespasses(self, slot: int, layout: Layout, sizes: Mapping[str, int]) -> str | None:
        """The tensor beside which a guard band was overwritten, or None."""
        for name, n_bytes in sizes.items():
            if any(bool((band != BAND).any()) for band in self._bands(slot, layout, name, n_bytes)):
                return name
        return None if bool(self.margins_hold()) else "all tensors"

    def _bands(self, slot: int, layout: Layout, name: str, n_bytes: int) -> tuple[torch.Tensor, torch.Tensor]:
        at = layout.start(slot, name)
        return self.bytes[at - GUARD : at], self.bytes[at + n_bytes : at + n_bytes + GUARD]
