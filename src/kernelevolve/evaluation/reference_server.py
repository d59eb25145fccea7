"""The baselines' process: the task's own reference, eager and compiled, called on slots of an arena.

Same protocol as the runner, so both sides pay the same for a call. No candidate is ever loaded here.
  "A ..." bind a slot · "B name" choose the baseline · "T n slot.." read the slots · "R n slot.." call
  answers "D n 0", or "X text" for a failure
  on a GPU "T" also brings the slots' bytes there, "R" ends when the device has, and answers "D n 0 us" by its clock
argv: control reply arena arena_bytes task_json folder n_threads device
"""

from __future__ import annotations

import mmap
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch

from kernelevolve.evaluation.lifetime import die_with_parent
from kernelevolve.evaluation.python_arguments import ArgumentPlan
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import Task
from kernelevolve.toolchains.abi import is_scalar

QUEUE_US, QUEUE_US_PER_CALL = 3000, 60
"""What Python needs to queue a call's kernels, with room; and the device's clocks must have come up from idling."""
CYCLES_PER_US = 2000
FLUSH_FACTOR = 3
"""Times the second-level cache that is written to make it forget."""


def compiled(reference: Callable[..., Any], task: Task, *, tag: str) -> Callable[..., Any]:
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
    made: Callable[..., Any] = torch.compile(reference, dynamic=True if _varies(task) else None if numbers else False)
    return made


def _varies(task: Task) -> bool:
    return any(axis.role != "shape" for axis in task.axes)


class Server:
    device_us = 0.0

    def __init__(self, *, task: Task, folder: Path, arena_fd: int, arena_bytes: int) -> None:
        self._task = task
        self._plan = ArgumentPlan.of(task)
        self._module = TaskModule(task, folder)
        self._bytes = np.frombuffer(mmap.mmap(arena_fd, arena_bytes), dtype=np.uint8)
        self._slots: dict[int, dict[str, Any]] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        self._compiles = False
        self._compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}

    def bind(self, text: str) -> None:
        words = text.split()
        self._ranges[int(words[0])] = (int(words[1]), int(words[2]))
        found, sizes = self._plan.named(words, self._bytes)
        arguments = {spec.name: found[spec.name] for spec in self._task.inputs}
        self._shapes[int(words[0])] = () if _varies(self._task) else tuple(sizes.values())
        self._slots[int(words[0])] = arguments | self._module.sizes_for(self._module.reference, sizes)

    def choose(self, name: str) -> None:
        if name not in ("eager", "compile"):
            raise ValueError(f"unknown baseline {name}")
        self._compiles = name == "compile"

    def _function(self, sizes: tuple[int, ...]) -> Callable[..., Any]:
        """What to call for a slot: the reference, or its compilation for the slot's shape."""
        if not self._compiles:
            return self._module.reference
        if sizes not in self._compiled:
            tag = "_".join(map(str, sizes))
            self._compiled[sizes] = compiled(self._module.reference, self._task, tag=tag)
        return self._compiled[sizes]

    def touch(self, text: str) -> None:
        for word in text.split()[1:]:
            start, n_bytes = self._ranges[int(word)]
            self._bytes[start : start + n_bytes : 64].sum()

    def run(self, text: str) -> None:
        numbers = [int(word) for word in text.split()[1:]]
        order = [(self._function(self._shapes[slot]), self._slots[slot]) for slot in numbers]
        result = None
        for function, arguments in order:
            result = function(**arguments)
        del result


class DeviceServer(Server):
    """The same on a GPU: every slot has its tensors there."""

    def __init__(self, *, task: Task, folder: Path, arena_fd: int, arena_bytes: int) -> None:
        super().__init__(task=task, folder=folder, arena_fd=arena_fd, arena_bytes=arena_bytes)
        torch.empty(8, device="cuda").add_(1)  # the context, before anybody waits for it
        self._host: dict[int, dict[str, Any]] = {}
        cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        n_bytes = FLUSH_FACTOR * cache_bytes if task.objective.cache == "cold" else 0
        self._flush = torch.empty(n_bytes, dtype=torch.uint8, device="cuda")
        self._queued = task.objective.clock == "device"
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def bind(self, text: str) -> None:
        super().bind(text)
        slot = int(text.split()[0])
        self._host[slot] = self._slots[slot]
        self._slots[slot] = {
            name: value.to("cuda") if isinstance(value, torch.Tensor) else value
            for name, value in self._host[slot].items()
        }

    def touch(self, text: str) -> None:
        for word in text.split()[1:]:
            for name, value in self._host[int(word)].items():
                if isinstance(value, torch.Tensor):
                    self._slots[int(word)][name].copy_(value)
        self._flush.fill_(1)
        if not self._queued:
            torch.cuda._sleep(CYCLES_PER_US * QUEUE_US)
        torch.cuda.synchronize()

    def run(self, text: str) -> None:
        if self._queued:
            torch.cuda._sleep(CYCLES_PER_US * (QUEUE_US + QUEUE_US_PER_CALL * (len(text.split()) - 1)))
        self._events[0].record()
        super().run(text)
        self._events[1].record()
        torch.cuda.synchronize()
        self.device_us = self._events[0].elapsed_time(self._events[1]) * 1e3


def main() -> None:
    die_with_parent()
    control, reply, arena_fd, arena_bytes = (int(word) for word in sys.argv[1:5])
    task = Task.from_json(Path(sys.argv[5]).read_text())
    torch.set_num_threads(int(sys.argv[7]))
    warnings.simplefilter("ignore")
    torch._dynamo.config.cache_size_limit = 64
    torch._dynamo.config.automatic_dynamic_shapes = True
    make = DeviceServer if sys.argv[8] == "cuda" else Server
    server = make(task=task, folder=Path(sys.argv[6]), arena_fd=arena_fd, arena_bytes=arena_bytes)
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
                os.write(reply, f"D {len(line.split()) - 2} 0 {server.device_us:.3f}\n".encode())
            except Exception as error:  # noqa: BLE001 - border: whatever a reference raises is reported
                text = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
                os.write(reply, f"X {text}\n".encode())


if __name__ == "__main__":
    main()
