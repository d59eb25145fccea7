"""Lower-bound bucket numbers with the twin rule of feature preprocessing."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "twins", "nan_inf", "infinite_borders")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: one border in ten is stored twice and a quarter of the values lie on a border."""
    n_values, n_borders = sizes["N"], sizes["M"]
    values = torch.randn(n_values, generator=rng)
    borders = _borders(n_borders, rng, variant)
    share = torch.rand(n_values, generator=rng)
    if n_borders > 0:
        on_border = borders[torch.randint(0, n_borders, (n_values,), generator=rng)]
        values = torch.where(share < (0.25 if variant == "nominal" else 0.5), on_border, values)
    if variant in ("nan_inf", "infinite_borders"):
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e-45])
        pick = odd[torch.randint(0, odd.numel(), (n_values,), generator=rng)]
        values = torch.where(share > 0.7, pick, values)
    return {"values": values, "borders": borders}


def reference(values: Tensor, borders: Tensor) -> Tensor:
    n_borders = borders.numel()
    if n_borders < 2:  # no twins possible, and NaN goes first
        bucket = torch.bucketize(values, borders, out_int32=True)
        return bucket.masked_fill_(values.isnan(), 0)
    bucket = torch.bucketize(values, borders, out_int32=True)
    bucket.masked_fill_(values.isnan(), 0)
    following = borders.index_select(0, (bucket + 1).clamp_(max=n_borders - 1))
    between = (bucket < n_borders - 1) & ~(values < following)
    return bucket.add_(between)


def _borders(n_borders: int, rng: torch.Generator, variant: str) -> Tensor:
    """Ascending, each stored once or twice."""
    share_of_twins = 0.9 if variant == "twins" else 0.1
    borders = torch.randn(n_borders, generator=rng).sort().values
    if variant == "infinite_borders" and n_borders > 2:
        borders[0], borders[-1] = -torch.inf, torch.inf
    # Only odd places copy their left neighbour, so nothing is stored three times.
    twin = torch.rand(n_borders, generator=rng) < share_of_twins
    twin[0::2] = False
    source = torch.arange(n_borders) - twin.long()
    return borders[source]
