"""Tensors as raw bytes."""

from __future__ import annotations

import torch

from kernelevolve.evaluation.arena import Bytes


def tensor_bytes(tensor: torch.Tensor) -> Bytes:
    """The raw bytes of a contiguous tensor, without a copy."""
    flat = tensor.detach().reshape(-1)
    data: Bytes = (flat.view(torch.uint8) if flat.numel() else torch.empty(0, dtype=torch.uint8)).numpy()
    return data
