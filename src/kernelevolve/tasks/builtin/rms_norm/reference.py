"""RMS norm with a weight."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

VARIANTS = ("nominal", "offset", "outliers", "uneven_rows")
EPS = 1e-6


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: normal values, weights around 1.2. uneven_rows: sizes from 1e-4 (eps matters) to 1e4, and zero rows."""
    n_rows, n_columns = sizes["R"], sizes["C"]
    x = torch.randn(n_rows, n_columns, generator=rng)
    if variant == "offset":
        x += 5
    if variant == "outliers":  # a few columns carry nearly all of the energy
        x[:, :: max(1, n_columns // 3)] *= 100
    if variant == "uneven_rows":
        x *= 10 ** (torch.rand(n_rows, 1, generator=rng) * 8 - 4)
        x[::7] = 0
    return {"x": x, "weight": torch.randn(n_columns, generator=rng) * 0.5 + 1.2}


def reference(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, weight.shape, weight, EPS)
