"""Tensors as raw bytes: numpy arrays on the host, uint8 tensors on a device."""

from __future__ import annotations

import math

import numpy as np
import torch

from kernelevolve.evaluation.arena import POISON, Bytes
from kernelevolve.model.task import DTYPE_BYTES


def tensor_bytes(tensor: torch.Tensor) -> Bytes:
    """The raw bytes of a tensor's elements, without a copy where it is contiguous."""
    flat = tensor.detach().contiguous().reshape(-1)
    if flat.numel() == 1:  # contiguous whatever its stride says, which a view as bytes does not take
        flat = flat.as_strided((1,), (1,))
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
    """Raw bytes as a tensor over the same memory: the process that could write there stands still. More bytes than the
    elements need are gaps behind each row."""
    kind, shape = getattr(torch, dtype), tuple(shape)
    flat = data if isinstance(data, torch.Tensor) else torch.from_numpy(data)
    n_elements = math.prod(shape)
    if not n_elements:
        return torch.empty(shape, dtype=kind, device=flat.device)
    flat = flat.view(kind)
    if flat.numel() == n_elements:
        return flat.reshape(shape)
    inner = [math.prod(shape[at:]) for at in range(2, len(shape) + 1)]
    return flat.as_strided(shape, (flat.numel() // shape[0], *inner))


def has_gaps(data: Bytes, dtype: str, shape: torch.Size | tuple[int, ...]) -> bool:
    return int(data.nbytes) > DTYPE_BYTES[dtype] * math.prod(shape)


def elements(data: Bytes, dtype: str, shape: torch.Size | tuple[int, ...]) -> Bytes:
    """The bytes of the elements alone, row after row."""
    return tensor_bytes(as_tensor(data, dtype, shape)) if has_gaps(data, dtype, shape) else data


def gaps(data: Bytes, dtype: str, shape: torch.Size | tuple[int, ...]) -> Bytes:
    """The bytes between and behind the rows."""
    if not has_gaps(data, dtype, shape):
        return data[:0]
    row_bytes = DTYPE_BYTES[dtype] * math.prod(shape[1:])
    found: Bytes = data.reshape(shape[0], -1)[:, row_bytes:]
    return found
