"""Rows that lie further apart than they are long: how far in a draw, and what the gaps hold.

The judge's own tensors stay contiguous. What goes into an arena is a buffer of as many elements per row as the pitch
says; `tensors.as_tensor` reads the rows out of it again.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from kernelevolve.evaluation.arena import Bytes
from kernelevolve.evaluation.tensors import tensor_bytes
from kernelevolve.model.task import DTYPE_BYTES, FLOAT_DTYPES, Axis, Task, TensorSpec, fits_pitch

SHARE = 0.5
"""Of the draws that may be either, how many tensors have gaps; of those that have, how many the smallest one."""
MAX_GAP_BYTES = 64 * 2**20
"""Of one tensor, where one step more per row does not take more by itself."""
QUIET = {"float64": 0x7FF8 << 48, "float32": 0x7FC0 << 16, "float16": 0x7E00, "bfloat16": 0x7FC0}
"""Bits that make any others a NaN."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """Whether a draw has gaps. `seed`: what decides; draws of one trajectory share it, and so their pitches. `always`:
    every tensor that may have them does."""

    seed: str
    always: bool = False


def contiguous(task: Task, inputs: Mapping[str, Any]) -> dict[str, int]:
    """The pitch of rows back to back, by axis. ValueError: the task takes no rows that long."""
    found = {}
    for spec in task.pitched:
        row, axis = inputs[spec.name].shape[1:].numel(), task.axis(spec.pitch)
        if not fits_pitch(axis, row, row):
            raise ValueError(f"rows of {spec.name} have {row} elements, {axis.name} goes up to {axis.high}")
        found[spec.pitch] = row
    return found


def drawn(task: Task, inputs: Mapping[str, Any], gaps: Gaps | None) -> dict[str, int]:
    """A pitch for each axis of that role."""
    found = contiguous(task, inputs)
    if gaps is None:
        return found
    rng = random.Random(hashlib.sha256(f"{gaps.seed}|gaps".encode()).digest())
    for spec in task.pitched:
        wide = rng.random() < SHARE or gaps.always
        pitch = _wider(rng, task.axis(spec.pitch), spec, found[spec.pitch], inputs[spec.name].shape[0])
        if wide and pitch is not None:
            found[spec.pitch] = pitch
    return found


def _wider(rng: random.Random, axis: Axis, spec: TensorSpec, row: int, n_rows: int) -> int | None:
    """The least that the axis admits above `row`, or that and some steps more; None where nothing is left."""
    step = axis.multiple_of
    least = -(-max(row + 1, axis.low) // step) * step
    step_bytes = step * DTYPE_BYTES[spec.dtype] * max(n_rows, 1)
    most = max(1, min(row // step + 16, MAX_GAP_BYTES // step_bytes))
    steps = rng.randint(1, most) if rng.random() < SHARE else 0
    pitch = min(least + steps * step, axis.high // step * step)
    return pitch if pitch >= least else None


def padded(tensor: torch.Tensor, spec: TensorSpec, pitch: int, *, seed: int = 0) -> Bytes:
    """The bytes of a buffer with these rows `pitch` elements apart. Gaps hold what ruins an answer that reads them:
    NaNs, or numbers at random; their other bits differ from place to place, so that writing NaNs shows as well."""
    n_rows, row, size = tensor.shape[0], tensor.shape[1:].numel(), DTYPE_BYTES[spec.dtype]
    if row == pitch or not n_rows:
        return tensor_bytes(tensor)
    noise = np.random.default_rng(seed).integers(0, 256, (n_rows, (pitch - row) * size), dtype=np.uint8)
    if spec.dtype in FLOAT_DTYPES:
        words = noise.view(f"u{size}")
        words |= np.array(QUIET[spec.dtype], dtype=words.dtype)
    rows = torch.as_tensor(tensor_bytes(tensor)).reshape(n_rows, row * size)
    held = torch.cat([rows, torch.from_numpy(noise).to(rows.device)], dim=1).reshape(-1)
    data: Bytes = held if held.is_cuda else held.numpy()
    return data
