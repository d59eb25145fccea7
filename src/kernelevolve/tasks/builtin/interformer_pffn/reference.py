"""Feed-forward network with per-sample weights and two RMS norms."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

VARIANTS = ("nominal", "large_bias", "padded_rows")
EPS = 1e-6


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: weights scaled so that every stage stays near size 1; gains and biases far from 1 and 0."""
    batch, n_rows, width, hidden = sizes["B"], sizes["N"], sizes["D"], sizes["K"]
    x = torch.randn(batch, n_rows, width, generator=rng)
    bias = 3.0 if variant == "large_bias" else 0.5
    if variant == "padded_rows":  # what a padded sequence looks like: the last rows hold zeros
        x[:, n_rows - n_rows // 4 :] = 0
    return {
        "x": x,
        "w1": torch.randn(batch, width, hidden, generator=rng) / width**0.5,
        "b1": torch.randn(batch, 1, hidden, generator=rng) * bias,
        "g1": torch.randn(hidden, generator=rng) * 0.5 + 1.5,
        "w2": torch.randn(batch, hidden, width, generator=rng) / hidden**0.5,
        "b2": torch.randn(batch, 1, width, generator=rng) * bias,
        "g2": torch.randn(width, generator=rng) * 0.5 + 1.5,
    }


def reference(x: Tensor, w1: Tensor, b1: Tensor, g1: Tensor, w2: Tensor, b2: Tensor, g2: Tensor) -> Tensor:
    hidden = F.gelu(torch.baddbmm(b1, x, w1))
    hidden = F.rms_norm(hidden, g1.shape, g1, EPS)
    return F.rms_norm(torch.baddbmm(b2, hidden, w2), g2.shape, g2, EPS)
