"""Softmax of every row."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "peaked", "far_from_zero", "masked")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: scores of size about 2. far_from_zero: whole rows where exp over- or underflows without the shift."""
    n_rows, n_columns = sizes["R"], sizes["C"]
    x = torch.randn(n_rows, n_columns, generator=rng) * 2
    if variant == "peaked":
        x *= 10
    if variant == "far_from_zero":
        x += torch.randn(n_rows, 1, generator=rng) * 200
    if variant == "masked":  # a large negative number stands for "not allowed"; a row may be masked altogether
        x[torch.rand(n_rows, n_columns, generator=rng) < torch.rand(n_rows, 1, generator=rng)] = -30000.0
        x[::9] = -30000.0
    return {"x": x}


def reference(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=-1)
