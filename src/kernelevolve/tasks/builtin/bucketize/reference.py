"""Lower-bound bucket numbers."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "on_borders", "nan_inf", "duplicates", "skewed")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: values and borders from the same normal distribution."""
    n_values, n_borders = sizes["N"], sizes["M"]
    values = torch.randn(n_values, generator=rng)
    borders = torch.randn(n_borders, generator=rng)
    if variant == "duplicates":
        borders = (borders * 2).round()
    if variant == "skewed":  # borders at powers: most values fall into few buckets
        borders, values = (borders * 8).exp2(), (values * 3).exp2()
    borders = borders.sort().values
    special = values
    if variant in ("on_borders", "duplicates") and n_borders > 0:
        special = borders[torch.randint(0, n_borders, (n_values,), generator=rng)]
    if variant == "nan_inf":
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e-45])
        special = odd[torch.randint(0, odd.numel(), (n_values,), generator=rng)]
    values = torch.where(torch.rand(n_values, generator=rng) < 0.5, special, values)
    return {"values": values, "borders": borders}


def reference(values: Tensor, borders: Tensor) -> Tensor:
    return torch.bucketize(values, borders, out_int32=True)
