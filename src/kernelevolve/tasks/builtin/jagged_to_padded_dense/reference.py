"""Jagged rows to a padded dense block."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "all_empty", "all_cut", "all_short", "inner_range", "non_finite", "one_long_row")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor | float]:
    """nominal: lengths from 0 to 1.5 L, so a third of the rows are cut; offsets start at 0 and end at T."""
    n_rows, width, length = sizes["B"], sizes["D"], sizes["L"]
    lengths = _lengths(n_rows, length, rng, variant)
    before, after = (7, 5) if variant == "inner_range" else (0, 0)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]) + before
    values = torch.randn(int(offsets[-1]) + after, width, generator=rng)
    if variant == "non_finite":
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0])
        pick = odd[torch.randint(0, odd.numel(), values.shape, generator=rng)]
        values = torch.where(torch.rand(values.shape, generator=rng) < 0.2, pick, values)
    padding = 0.0 if variant == "all_short" else float(torch.randint(-64, 64, (), generator=rng)) / 8
    return {"values": values, "offsets": offsets, "padding": padding}


def reference(values: Tensor, offsets: Tensor, padding: float, L: int) -> Tensor:
    """Row T of the extended values is the padding; every dense position beyond its row's end points there."""
    n_values, width = values.shape
    position = torch.arange(L, device=values.device)
    source = (offsets[:-1, None] + position).masked_fill_(position >= offsets.diff()[:, None], n_values)
    extended = torch.cat([values, values.new_full((1, width), padding)])
    return extended.index_select(0, source.view(-1)).view(offsets.numel() - 1, L, width)


def _lengths(n_rows: int, length: int, rng: torch.Generator, variant: str) -> Tensor:
    lengths = torch.randint(0, 3 * length // 2 + 1, (n_rows,), generator=rng)
    if variant == "all_empty":
        lengths.zero_()
    if variant == "all_cut":
        lengths += length + 1
    if variant == "all_short":
        lengths %= max(1, length)
    if variant == "one_long_row":
        lengths.zero_()
        lengths[n_rows // 3 : n_rows // 3 + 1] = 2 * length + 3
    return lengths
