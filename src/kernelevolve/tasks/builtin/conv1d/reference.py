"""1-D convolution, kernel 3, padding 1."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

VARIANTS = ("nominal", "offset", "sparse_pulses")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: normal signals, weights scaled so that the result has size about 1."""
    n_inputs, n_outputs = sizes["CI"], sizes["CO"]
    x = torch.randn(sizes["B"], n_inputs, sizes["L"], generator=rng)
    if variant == "offset":
        x += 2
    if variant == "sparse_pulses":  # mostly zeros; the ends are never zero, so that the padding shows
        pulses = torch.rand(x.shape, generator=rng) < 0.1
        pulses[..., 0] = pulses[..., -1] = True
        x = 10 * x * pulses
    return {
        "x": x,
        "weight": torch.randn(n_outputs, n_inputs, 3, generator=rng) / (3 * n_inputs) ** 0.5,
        "bias": torch.randn(n_outputs, generator=rng),
    }


def reference(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.conv1d(x, weight, bias, padding=1)
