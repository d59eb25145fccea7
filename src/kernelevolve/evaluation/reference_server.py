"""The baselines' process: the task's own reference, eager and compiled, called on slots of an arena.

Same protocol as the runner, so both sides pay the same for a call. No candidate is ever loaded here.
  "A ..." bind a slot · "B name" choose the baseline · "T n slot.." read the slots · "R n slot.." call
  "C n slot.." make graphs of the call where there are none yet
  "O n slot.." call by the outside clock (n = 0: only the way there and back): says "L" when the device has been given
  everything, then answers as the others
  answers "D n 0", or "X text" for a failure
  on a GPU "T" makes ready for R on these slots and empties the caches where the task says so; "R" ends when the device
  has, and answers "D n 0 us" by its clock
argv: control reply arena arena_bytes task_json folder n_threads device; on a GPU `arena` is a handle of device memory
"""

from __future__ import annotations

import mmap
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch

from kernelevolve.evaluation.device_arena import opened
from kernelevolve.evaluation.lifetime import die_with_parent
from kernelevolve.evaluation.python_arguments import ArgumentPlan
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import Task
from kernelevolve.toolchains.abi import is_scalar


def compiled(reference: Callable[..., Any], task: Task, *, tag: str, mode: str | None = None) -> Callable[..., Any]:
    """torch.compile at its best for one shape: exact sizes, and numbers that may differ from call to call, since a
    compilation for each new value of a scalar would be a baseline that anything beats. Sizes that depend on the data
    are symbolic. `tag` tells the shape from others."""
    numbers = any(is_scalar(spec) for spec in task.inputs)
    if isinstance(reference, FunctionType):
        # What the compiler has learnt about changing arguments goes by a function's place and name: each shape gets
        # a name of its own, or the second shape's sizes would be taken for changing ones.
        code = reference.__code__.replace(co_name=f"{reference.__name__}_{tag}")
        twin = FunctionType(
            code, reference.__globals__, code.co_name, reference.__defaults__, reference.__closure__
        )  # fmt: skip
        twin.__kwdefaults__ = reference.__kwdefaults__
        reference = twin
    dynamic = True if task.varies else None if numbers else False
    made: Callable[..., Any] = torch.compile(reference, dynamic=dynamic, mode=mode)
    return made


EAGER, TF32 = "eager", "+tf32"
COMPILED = {"compile": None, "compile-max-autotune": "max-autotune-no-cudagraphs"}
"""Baselines that torch.compile makes, and its mode for each. Graphs are captured for all sides alike, elsewhere."""


class Server:
    device_us = 0.0
    """What the last run took by the device's clock."""

    def __init__(self, *, task: Task, folder: Path, memory: Any, device: str = "cpu") -> None:
        """`memory`: the arena's bytes, an array or a tensor on the device."""
        self._task = task
        self._plan = ArgumentPlan.of(task)
        self._module = TaskModule(task, folder, device=device)
        self._bytes = memory
        self._slots: dict[int, dict[str, Any]] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        self._chosen = EAGER
        self._compiled: dict[tuple[str, tuple[int, ...]], Callable[..., Any]] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}

    def bind(self, text: str) -> None:
        words = text.split()
        self._ranges[int(words[0])] = (int(words[1]), int(words[2]))
        found, sizes = self._plan.named(words, self._bytes)
        arguments = {spec.name: found[spec.name] for spec in self._task.inputs}
        self._shapes[int(words[0])] = () if self._task.varies else tuple(sizes.values())
        self._slots[int(words[0])] = arguments | self._module.sizes_for(self._module.reference, sizes)

    def choose(self, name: str) -> None:
        """One of `COMPILED`, "eager", either of them with `TF32` behind it, or an arm of the task's."""
        plain = name.removesuffix(TF32)
        if plain != EAGER and plain not in COMPILED and name not in self._module.arms:
            raise ValueError(f"unknown baseline {name}")
        self._chosen = name
        narrow = name.endswith(TF32)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = narrow

    def _function(self, sizes: tuple[int, ...]) -> Callable[..., Any]:
        """What to call for a slot: the reference, its compilation for the slot's shape, or the task's own arm."""
        if self._chosen in self._module.arms:
            return self._module.arms[self._chosen]
        plain = self._chosen.removesuffix(TF32)
        if plain == EAGER:
            return self._module.reference
        key = (self._chosen, sizes)
        if key not in self._compiled:
            tag = "_".join(map(str, (re.sub(r"\W", "_", self._chosen), *sizes)))
            self._compiled[key] = compiled(self._module.reference, self._task, tag=tag, mode=COMPILED[plain])
        return self._compiled[key]

    def touch(self, text: str) -> None:
        for word in text.split()[1:]:
            start, n_bytes = self._ranges[int(word)]
            self._bytes[start : start + n_bytes : 64].sum()

    def ready(self, text: str) -> None:
        """Without a device: whatever is compiled when it is first called."""
        self.run(text)

    def outside(self, text: str, queued: Callable[[], object]) -> None:
        self.run(text)
        queued()

    def run(self, text: str) -> None:
        numbers = [int(word) for word in text.split()[1:]]
        order = [(self._function(self._shapes[slot]), self._slots[slot]) for slot in numbers]
        result = None
        for function, arguments in order:
            result = function(**arguments)
        del result


def make_server(argv: list[str]) -> Server:
    memory, n_bytes, task_file, folder, device = argv[0], int(argv[1]), argv[2], Path(argv[3]), argv[5]
    task = Task.from_json(Path(task_file).read_text())
    if device == "cuda":
        from kernelevolve.evaluation.device_server import DeviceServer  # only here is there a device to ask

        return DeviceServer(task=task, folder=folder, handle=memory, n_bytes=n_bytes)
    if not memory.isdigit():  # a device that is none
        return Server(task=task, folder=folder, memory=opened(memory, n_bytes).numpy())
    return Server(task=task, folder=folder, memory=np.frombuffer(mmap.mmap(int(memory), n_bytes), dtype=np.uint8))


def main() -> None:
    die_with_parent()
    control, reply = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(int(sys.argv[7]))
    warnings.simplefilter("ignore")
    torch._dynamo.config.cache_size_limit = 64
    torch._dynamo.config.automatic_dynamic_shapes = True
    server = make_server(sys.argv[3:])
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
                    case "C":
                        server.ready(line[1:])
                    case "O":
                        server.outside(line[1:], lambda: os.write(reply, b"L\n"))
                os.write(reply, f"D {len(line.split()) - 2} 0 {server.device_us:.3f}\n".encode())
            except Exception as error:  # noqa: BLE001 - border: whatever a reference raises is reported
                text = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
                os.write(reply, f"X {text}\n".encode())


if __name__ == "__main__":
    main()
