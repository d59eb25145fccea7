"""Merge bucketized dense transform: every feature's bucket number, shifted into one merged id space."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "on_borders", "nan_inf", "no_borders", "single_border", "infinite_borders")
MAX_BORDERS = 16


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: 2 to 10 borders a feature; the other variants use the whole range of 0 to 16."""
    n_features, n_samples = sizes["F"], sizes["N"]
    x = torch.randn(n_features, n_samples, generator=rng)
    lengths = torch.randint(0, MAX_BORDERS + 1, (n_features,), generator=rng)
    if variant == "nominal":
        lengths = lengths % 9 + 2
    if variant == "no_borders":  # most features have none; for a single feature S is 0
        lengths *= torch.rand(n_features, generator=rng) < 0.2
        lengths[0] = 0
    if variant == "single_border":
        lengths.fill_(1)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    rows = torch.randn(n_features, MAX_BORDERS, generator=rng)
    if variant == "infinite_borders":
        rows[:, 0], rows[:, -1] = -torch.inf, torch.inf
    rows[torch.arange(MAX_BORDERS) >= lengths[:, None]] = torch.inf
    rows = rows.sort(dim=1).values
    if variant != "nominal":
        x = _edges(x, rows, lengths, rng, variant)
    borders = rows[torch.arange(MAX_BORDERS) < lengths[:, None]]
    return {"x": x, "borders": borders, "border_offsets": offsets}


def reference(x: Tensor, borders: Tensor, border_offsets: Tensor) -> Tensor:
    n_features = x.shape[0]
    first, lengths = border_offsets[:-1], border_offsets.diff()
    shift = first + torch.arange(n_features, device=x.device)
    if borders.numel() == 0:
        return shift[:, None].expand(x.shape).contiguous()
    column = torch.arange(MAX_BORDERS, device=x.device)
    source = (first[:, None] + column).clamp_(max=borders.numel() - 1)
    rows = borders[source].masked_fill_(column >= lengths[:, None], torch.inf)
    bucket = torch.searchsorted(rows, x)
    return torch.minimum(bucket, lengths[:, None]).add_(shift[:, None])


def _edges(x: Tensor, rows: Tensor, lengths: Tensor, rng: torch.Generator, variant: str) -> Tensor:
    """Replace about half of the values by borders of their own feature or by non-finite values."""
    pick = torch.randint(0, 2**20, x.shape, generator=rng) % lengths.clamp(min=1)[:, None]
    special = rows.gather(1, pick)
    if variant == "nan_inf":
        values = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0])
        special = values[torch.randint(0, values.numel(), x.shape, generator=rng)]
    return torch.where(torch.rand(x.shape, generator=rng) < 0.5, special, x)
