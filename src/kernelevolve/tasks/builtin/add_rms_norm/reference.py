"""Residual add, then RMS norm of the sum."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

VARIANTS = ("nominal", "offset", "cancelling", "uneven_rows")
EPS = 1e-6


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: a residual three times the size of x. cancelling: x is the residual's negative, half of its bits off."""
    n_rows, n_columns = sizes["R"], sizes["C"]
    x = torch.randn(n_rows, n_columns, generator=rng)
    residual = torch.randn(n_rows, n_columns, generator=rng) * 3
    if variant == "offset":
        residual += 5
    if variant == "cancelling":
        x = x * 0.01 - residual
    if variant == "uneven_rows":
        size = 10 ** (torch.rand(n_rows, 1, generator=rng) * 8 - 4)
        x, residual = x * size, residual * size
        x[::7] = 0
        residual[::7] = 0
    weight = torch.randn(n_columns, generator=rng) * 0.5 + 1.2
    return {"x": x, "residual": residual, "weight": weight}


def reference(x: Tensor, residual: Tensor, weight: Tensor) -> Tensor:
    residual.add_(x)
    return F.rms_norm(residual, weight.shape, weight, EPS)
