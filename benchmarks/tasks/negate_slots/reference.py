"""The floor of an in-place update of slots: their numbers are read, then the slots, then they are written."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal",)


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """ValueError: more slots than there are."""
    if sizes["B"] > sizes["S"]:
        raise ValueError(f"B={sizes['B']} slots of {sizes['S']}")
    return {
        "x": torch.randn(sizes["S"], sizes["N"], generator=rng),
        "indices": torch.randperm(sizes["S"], generator=rng)[: sizes["B"]].int(),
    }


def reference(x: Tensor, indices: Tensor) -> None:
    slots = indices.long()
    x[slots] = -x[slots]
