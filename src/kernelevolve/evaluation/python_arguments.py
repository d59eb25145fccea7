"""How a line of the runner's protocol becomes a Python call: tensors over the arena, numbers, axes, in ABI order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from kernelevolve.evaluation.device import apart
from kernelevolve.model.task import DTYPE_BYTES, FLOAT_DTYPES, Task, evaluate_dim
from kernelevolve.model.value import Value
from kernelevolve.toolchains.abi import is_scalar


class Argument(Value):
    name: str
    dtype: str
    dims: tuple[str, ...]
    scalar: bool
    pitch: str = ""


class ArgumentPlan(Value):
    """What a child must know of a task: the order and form of its arguments, nothing else."""

    arguments_: tuple[Argument, ...]
    axes: tuple[str, ...]

    @staticmethod
    def of(task: Task) -> ArgumentPlan:
        specs = (*task.inputs, *task.outputs)
        return ArgumentPlan(
            arguments_=tuple(
                Argument(
                    name=spec.name,
                    dtype=spec.dtype,
                    dims=spec.dims,
                    pitch=spec.pitch,
                    scalar=spec in task.inputs and is_scalar(spec),
                )
                for spec in specs
            ),
            axes=tuple(axis.name for axis in task.axes),
        )

    def named(self, words: list[str], memory: np.ndarray[Any, Any]) -> tuple[dict[str, Any], dict[str, int]]:
        """(arguments by name, sizes by axis) of an "A" line's words: slot start bytes, then three counted groups."""
        at, groups = 3, []
        for _ in range(3):
            count = int(words[at])
            groups.append(words[at + 1 : at + 1 + count])
            at += 1 + count
        offsets, integers = [int(word) for word in groups[0]], [int(word) for word in groups[1]]
        reals = [float(word) for word in groups[2]]
        n_scalars = len(integers) - len(self.axes)
        sizes = dict(zip(self.axes, integers[n_scalars:], strict=True))
        found: dict[str, Any] = {}
        for argument in self.arguments_:
            if argument.scalar:
                found[argument.name] = reals.pop(0) if argument.dtype in FLOAT_DTYPES else integers.pop(0)
            else:
                found[argument.name] = tensor_at(memory, offsets.pop(0), argument, sizes)
        return found, sizes

    def arguments(self, words: list[str], memory: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        found, sizes = self.named(words, memory)
        return (*found.values(), *sizes.values())


def tensor_at(memory: np.ndarray[Any, Any], offset: int, argument: Argument, sizes: Mapping[str, int]) -> torch.Tensor:
    dims = [evaluate_dim(dim, sizes) for dim in argument.dims]
    strides = [max(1, math.prod(dims[at + 1 :])) for at in range(len(dims))]
    n_elements = math.prod(dims)
    if argument.pitch:
        strides[0] = sizes[argument.pitch]
        n_elements = dims[0] * strides[0] if n_elements else 0
    n_bytes = DTYPE_BYTES[argument.dtype] * n_elements
    dtype = getattr(torch, argument.dtype)
    if n_bytes == 0:
        return torch.empty(dims, dtype=dtype, device=memory.device if isinstance(memory, torch.Tensor) else None)
    data = memory[offset : offset + n_bytes]
    held = data if isinstance(data, torch.Tensor) else torch.from_numpy(data)
    # Not a view, nor in one storage with the others: torch.compile would refuse to change it in place.
    tensor = torch.empty(0, dtype=dtype, device=held.device)
    if held.is_cuda:
        return tensor.set_(apart(held), 0, dims, strides)
    return tensor.set_(held.untyped_storage(), held.storage_offset() // dtype.itemsize, dims, strides)
