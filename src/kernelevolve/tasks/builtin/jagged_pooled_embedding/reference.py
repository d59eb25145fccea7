"""Pooled embedding lookup of several tables at once."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

VARIANTS = ("nominal", "hot", "all_empty", "mostly_empty", "pruned", "one_huge_bag")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: bags of 0 to 2 P indices, all rows equally likely, one index in fifty pruned."""
    n_bags, n_rows = sizes["G"] * sizes["B"], sizes["R"]
    tables = torch.randn(sizes["G"], n_rows, sizes["D"], generator=rng)
    lengths = torch.randint(0, 2 * sizes["P"] + 1, (n_bags,), generator=rng)
    if variant == "mostly_empty":
        lengths *= torch.rand(n_bags, generator=rng) < 0.2
    if variant == "all_empty":
        lengths.zero_()
    if variant == "one_huge_bag":
        lengths[n_bags // 2 : n_bags // 2 + 1] = 50 * sizes["P"] + 1
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    spread = torch.rand(int(offsets[-1]), generator=rng, dtype=torch.float64)
    if variant == "hot":  # the larger the power, the fewer rows take most of the lookups
        spread = spread**8
    indices = (spread * n_rows).long().clamp_(max=n_rows - 1)
    pruned = torch.rand(indices.shape, generator=rng) < (0.7 if variant == "pruned" else 0.02)
    return {"tables": tables, "indices": indices.masked_fill_(pruned, -1), "offsets": offsets}


def reference(tables: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
    n_tables, n_rows, width = tables.shape
    n_bags = offsets.numel() - 1
    batch = n_bags // n_tables
    first_row = torch.arange(n_tables, device=tables.device) * n_rows
    per_table = offsets[:: max(batch, 1)].diff() if batch else first_row.new_zeros(n_tables)
    base = torch.repeat_interleave(first_row, per_table, output_size=indices.numel())
    pooled = F.embedding_bag(
        indices.clamp(min=0).add_(base),
        tables.view(-1, width),
        offsets,
        mode="sum",
        per_sample_weights=(indices >= 0).to(tables.dtype),
        include_last_offset=True,
    )
    return pooled.view(n_tables, batch, width).transpose(0, 1).reshape(batch, n_tables * width).contiguous()
