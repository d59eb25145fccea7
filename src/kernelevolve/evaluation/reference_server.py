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

from kernelevolve.evaluation.lifetime import die_with_parent
from kernelevolve.evaluation.python_arguments import ArgumentPlan
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import Task


class Server:
    def __init__(self, *, task: Task, folder: Path, arena_fd: int, arena_bytes: int) -> None:
        self._task = task
        self._plan = ArgumentPlan.of(task)
        self._module = TaskModule(task, folder)
        self._bytes = np.frombuffer(mmap.mmap(arena_fd, arena_bytes), dtype=np.uint8)
        self._slots: dict[int, dict[str, Any]] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        self._function: Callable[..., Any] = self._module.reference
        self._compiled: Callable[..., Any] | None = None

    def bind(self, text: str) -> None:
        words = text.split()
        self._ranges[int(words[0])] = (int(words[1]), int(words[2]))
        found, sizes = self._plan.named(words, self._bytes)
        arguments = {spec.name: found[spec.name] for spec in self._task.inputs}
        self._slots[int(words[0])] = arguments | self._module.sizes_for(self._module.reference, sizes)

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
