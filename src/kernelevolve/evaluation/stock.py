"""Content for timed calls: every one of them gets a draw that its process has never seen.

Draws are made from (secret, shape, index), so that another candidate, in another process, meets the same ones: answers
are computed once. They are kept as far as they fit, and made again beyond.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from kernelevolve.evaluation.arena import Layout
from kernelevolve.evaluation.draws import Draw, fits

STOCK_BYTES = 2 * 2**30
"""Kept per shape at most, inputs and answers, and never more than a twelfth of the machine's memory."""
DEVICE_SHARE = 0.3
"""Of a device's memory, by all shapes of a task together."""


def budget() -> int:
    """Bytes a stock may keep on this machine."""
    return min(STOCK_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 12)


class Allowance:
    """Bytes that several stocks may keep between them."""

    def __init__(self, n_bytes: int) -> None:
        self.left = n_bytes


class Stock:
    """The endless list of a shape's draws."""

    def __init__(self, make: Callable[[int], Draw], *, allowance: Allowance | None = None) -> None:
        self._make = make
        self._kept: list[Draw] = []
        self._allowance = allowance or Allowance(budget())
        self._copies = 1 if allowance is None else 2  # on a device a filled slot is kept beside it

    def __getitem__(self, index: int) -> Draw:
        while index >= len(self._kept) and self._allowance.left > 0:
            draw = self._make(len(self._kept))
            self._allowance.left -= self._copies * draw.held_bytes
            self._kept.append(draw)
        return self._kept[index] if index < len(self._kept) else self._make(index)


class Feed:
    """One process' way through a stock: never the same draw twice, unless `repeat` (a test's switch)."""

    def __init__(self, stock: Stock, *, layout: Layout, repeat: bool = False) -> None:
        self._stock = stock
        self._layout = layout
        self._next = 0
        self._repeat = repeat

    def take(self, count: int) -> list[Draw]:
        """Draws that fit the layout; where sizes depend on the data a rare one does not."""
        if self._repeat:
            return [self._stock[0]] * count
        taken: list[Draw] = []
        while len(taken) < count:
            draw = self._stock[self._next]
            self._next += 1
            if fits(draw, self._layout):
                taken.append(draw)
        return taken
