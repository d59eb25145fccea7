"""Tensors as raw bytes: numpy arrays on the host, uint8 tensors on a device."""

from __future__ import annotations

import numpy as np
import torch

from kernelevolve.evaluation.arena import POISON, Bytes


def tensor_bytes(tensor: torch.Tensor) -> Bytes:
    """The raw bytes of a contiguous tensor, without a copy."""
    flat = tensor.detach().reshape(-1)
    as_bytes = flat.view(torch.uint8) if flat.numel() else torch.empty(0, dtype=torch.uint8, device=flat.device)
    data: Bytes = as_bytes if as_bytes.is_cuda else as_bytes.numpy()
    return data


def copied(data: Bytes) -> Bytes:
    held: Bytes = data.clone() if isinstance(data, torch.Tensor) else data.copy()
    return held


def same_bytes(one: Bytes, other: Bytes) -> bool:
    if isinstance(one, torch.Tensor):
        return bool(torch.equal(one, torch.as_tensor(other)))
    if one.size != other.size:
        return False
    words = one.size // 8 * 8
    return bool(
        (one[:words].view(np.uint64) == other[:words].view(np.uint64)).all() and (one[words:] == other[words:]).all()
    )


def unwritten(got: Bytes) -> bool:
    """Whether the poison is still there, everywhere."""
    return got.nbytes > 0 and bool((got == POISON).all())


def as_tensor(data: Bytes, dtype: str, shape: torch.Size | tuple[int, ...]) -> torch.Tensor:
    """Raw bytes as a tensor over the same memory: the process that could write there stands still."""
    kind = getattr(torch, dtype)
    if isinstance(data, torch.Tensor):
        return data.view(kind).reshape(tuple(shape)) if data.numel() else data.new_empty(tuple(shape), dtype=kind)
    flat = torch.from_numpy(data) if data.size else torch.empty(0, dtype=torch.uint8)
    return flat.view(kind).reshape(tuple(shape))
