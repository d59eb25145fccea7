"""The contract of a task format: recognise a path cheaply, then turn it into a Task or a list of faults."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kernelevolve.model.task import Task


class TaskSource(Protocol):
    def matches(self, path: Path) -> bool:
        """Whether this format should read `path`. Looks at names and text, never runs anything; must not raise."""
        ...

    def load(self, path: Path, *, platform: str) -> Task:
        """The task for one platform kind. Raises TaskError with every fault found, one line each."""
        ...
