"""The baselines' process: the task's own reference, eager and compiled, called on slots of an arena.

Same protocol as the runner, so both sides pay the same for a call. No candidate is ever loaded here.
  "A ..." bind a slot · "B name" choose the baseline · "T n slot.." read the slots · "R n slot.." call
  answers "D n 0", or "X text" for a failure
argv: control reply arena arena_bytes task_json folder n_threads
"""

from __future__ import annotations

import mmap
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernelevolve.evaluation.arena import tensor_specs
from kernelevolve.evaluation.lifetime import die_with_parent
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import DTYPE_BYTES, FLOAT_DTYPES, Task, evaluate_dim
from kernelevolve.toolchains.abi import is_scalar


class Server:
    def __init__(self, *, task: Task, folder: Path, arena_fd: int, arena_bytes: int) -> None:
        self._task = task
        self._module = TaskModule(task, folder)
        self._bytes = np.frombuffer(mmap.mmap(arena_fd, arena_bytes), dtype=np.uint8)
        self._slots: dict[int, dict[str, Any]] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        self._function: Callable[..., Any] = self._module.reference
        self._compiled: Callable[..., Any] | None = None

    def bind(self, text: str) -> None:
        words = text.split()
        slot, at = int(words[0]), 3
        self._ranges[slot] = (int(words[1]), int(words[2]))
        groups: list[list[str]] = []
        for _ in range(3):
            n = int(words[at])
            groups.append(words[at + 1 : at + 1 + n])
            at += 1 + n
        offsets, integers, reals = (
            [int(w) for w in groups[0]],
            [int(w) for w in groups[1]],
            [float(w) for w in groups[2]],
        )
        n_axes = len(self._task.axes)
        sizes = dict(zip((axis.name for axis in self._task.axes), integers[len(integers) - n_axes :], strict=True))
        where = dict(
            zip((spec.name for spec in tensor_specs(self._task.inputs, self._task.outputs)), offsets, strict=True)
        )
        arguments: dict[str, Any] = {}
        for spec in self._task.inputs:
            if is_scalar(spec):
                arguments[spec.name] = reals.pop(0) if spec.dtype in FLOAT_DTYPES else integers.pop(0)
            else:
                dims = [evaluate_dim(dim, sizes) for dim in spec.dims]
                arguments[spec.name] = self._tensor(where[spec.name], spec.dtype, dims)
        self._slots[slot] = arguments | self._module.sizes_for(self._module.reference, sizes)

    def choose(self, name: str) -> None:
        if name == "eager":
            self._function = self._module.reference
        elif name == "compile":
            # Data-dependent sizes change from call to call: symbolic there, exact sizes elsewhere, the better of both.
            varies = any(axis.role != "shape" for axis in self._task.axes)
            self._compiled = self._compiled or torch.compile(self._module.reference, dynamic=varies)
            self._function = self._compiled
        else:
            raise ValueError(f"unknown baseline {name}")

    def touch(self, text: str) -> None:
        for word in text.split()[1:]:
            start, n_bytes = self._ranges[int(word)]
            self._bytes[start : start + n_bytes : 64].sum()

    def run(self, text: str) -> None:
        order = [self._slots[int(word)] for word in text.split()[1:]]
        result = None
        for arguments in order:
            result = self._function(**arguments)
        del result

    def _tensor(self, offset: int, dtype: str, dims: list[int]) -> torch.Tensor:
        n_bytes = DTYPE_BYTES[dtype] * int(np.prod(dims, dtype=np.int64))
        if n_bytes == 0:
            return torch.empty(dims, dtype=getattr(torch, dtype))
        flat = torch.from_numpy(self._bytes[offset : offset + n_bytes])
        return flat.view(getattr(torch, dtype)).reshape(dims)


def main() -> None:
    die_with_parent()
    control, reply, arena_fd, arena_bytes = (int(word) for word in sys.argv[1:5])
    task = Task.from_json(Path(sys.argv[5]).read_text())
    torch.set_num_threads(int(sys.argv[7]))
    warnings.simplefilter("ignore")
    torch._dynamo.config.cache_size_limit = 64
    torch._dynamo.config.automatic_dynamic_shapes = True
    server = Server(task=task, folder=Path(sys.argv[6]), arena_fd=arena_fd, arena_bytes=arena_bytes)
    os.write(reply, b"L\n")
    with os.fdopen(control, "r", encoding="ascii") as lines, torch.no_grad():
        for line in lines:
            try:
                match line[0]:
                    case "A":
                        server.bind(line[1:])
                        continue
                    case "B":
                        server.choose(line[1:].strip())
                    case "T":
                        server.touch(line[1:])
                    case "R":
                        server.run(line[1:])
                os.write(reply, f"D {len(line.split()) - 2} 0\n".encode())
            except Exception as error:  # noqa: BLE001 - border: whatever a reference raises is reported
                text = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
                os.write(reply, f"X {text}\n".encode())


if __name__ == "__main__":
    main()
