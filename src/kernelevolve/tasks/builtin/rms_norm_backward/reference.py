"""Gradients of the RMS norm by its input and by its weight."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "offset", "outliers", "uneven_rows")
EPS = 1e-6


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: normal values, weights around 1.2. uneven_rows: x from 1e-2 to 1e4, and zero rows, whose gradient the
    eps alone bounds."""
    n_rows, n_columns = sizes["R"], sizes["C"]
    grad = torch.randn(n_rows, n_columns, generator=rng)
    x = torch.randn(n_rows, n_columns, generator=rng)
    if variant == "offset":  # the mean of w * grad * n is no longer small
        x += 5
        grad += 2
    if variant == "outliers":  # a few columns carry nearly all of the energy
        x[:, :: max(1, n_columns // 3)] *= 100
    if variant == "uneven_rows":
        x *= 10 ** (torch.rand(n_rows, 1, generator=rng) * 6 - 2)
        x[::7] = 0
    return {"grad": grad, "x": x, "weight": torch.randn(n_columns, generator=rng) * 0.5 + 1.2}


def reference(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """16-bit formats are widened first, as the norm itself does inside."""
    wide = torch.promote_types(x.dtype, torch.float32)
    upper, value = grad.to(wide), x.to(wide)
    scale = torch.rsqrt(value.square().mean(-1, keepdim=True) + EPS)
    normed, weighted = value * scale, upper * weight.to(wide)
    grad_x = (weighted - normed * (weighted * normed).mean(-1, keepdim=True)) * scale
    return grad_x.to(x.dtype), (upper * normed).sum(0).to(weight.dtype)
