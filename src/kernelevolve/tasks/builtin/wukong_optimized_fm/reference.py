"""Optimised factorisation machine."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "offset", "uneven_rows")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: independent normal values. offset: rows that share a large common part. uneven_rows: of sizes up to 3.

    What comes out is a product of three: sizes stay small enough that it does not leave a 16-bit format's range, where
    whether a number is infinite hangs on the last bit.
    """
    batch, n_rows = sizes["B"], sizes["N"]
    x = torch.randn(batch, n_rows, sizes["D"], generator=rng)
    y = torch.randn(batch, n_rows, sizes["K"], generator=rng)
    if variant == "offset":
        x = 0.5 * x + torch.randn(batch, 1, sizes["D"], generator=rng)
        y += 0.5
    if variant == "uneven_rows":
        x *= torch.randn(batch, n_rows, 1, generator=rng).exp_().clamp_(max=3)
        y *= torch.randn(batch, n_rows, 1, generator=rng).exp_().clamp_(max=3)
    return {"x": x, "y": y}


def reference(x: Tensor, y: Tensor) -> Tensor:
    return x @ (x.transpose(1, 2) @ y)
