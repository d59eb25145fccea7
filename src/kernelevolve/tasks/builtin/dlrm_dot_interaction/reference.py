"""All pairwise dot products of a sample's feature rows."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "offset", "one_large_feature")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: independent normal rows. offset: rows that share a large common part."""
    batch, n_sparse, width = sizes["B"], sizes["F"], sizes["D"]
    dense = torch.randn(batch, width, generator=rng)
    sparse = torch.randn(batch, n_sparse, width, generator=rng)
    if variant == "offset":
        common = 2 * torch.randn(batch, 1, width, generator=rng)
        dense, sparse = dense + common[:, 0], sparse + common
    if variant == "one_large_feature":
        sparse[:, : n_sparse // 2] *= 0.05
        sparse[:, -1:] *= 20
    return {"dense": dense, "sparse": sparse}


def reference(dense: Tensor, sparse: Tensor) -> Tensor:
    rows = torch.cat([dense[:, None], sparse], dim=1)
    products = rows @ rows.transpose(1, 2)
    n_rows = rows.shape[1]
    first, second = torch.triu_indices(n_rows, n_rows, offset=1, device=dense.device)
    return torch.cat([dense, products.flatten(1).index_select(1, first * n_rows + second)], dim=1)
