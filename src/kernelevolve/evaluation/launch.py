"""What a candidate's process becomes: the runner with its library, or an interpreter of ours with its module."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernelevolve.evaluation.arena import Arena
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.python_arguments import ArgumentPlan
from kernelevolve.model.job import Limits
from kernelevolve.model.launch import LaunchPlan
from kernelevolve.model.task import Task
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path

INTERPRETER_BYTES = 12 * 2**30
"""Address space that Python and torch reserve, most of it never touched."""


class Launch(Protocol):
    @property
    def base_bytes(self) -> int:
        """Address space the process needs before the candidate asks for any."""
        ...

    def prepare(
        self, *, jail: Path, plan_fd: int, child_ends: tuple[int, int], arena: Arena | DeviceArena, limits: Limits,
        n_threads: int, seccomp: bool, handle: str = "",
    ) -> list[str]:  # fmt: skip
        """Put what is needed into the jail or the plan; returns the arguments of `python_runner`, which the process is
        to become, or nothing for the runner itself. `handle`: by which the process maps an arena on a device."""
        ...


@dataclass(frozen=True, kw_only=True)
class LibraryLaunch:
    library: Path
    base_bytes: int = 0

    def prepare(
        self, *, jail: Path, plan_fd: int, child_ends: tuple[int, int], arena: Arena | DeviceArena, limits: Limits,
        n_threads: int, seccomp: bool, handle: str = "",
    ) -> list[str]:  # fmt: skip
        shutil.copyfile(self.library, jail / "candidate.so")
        (jail / "candidate.so").chmod(0o755)
        return []


@dataclass(frozen=True, kw_only=True)
class PythonLaunch:
    source: Path
    task: Task
    device: bool
    """Whether the tensors lie on one."""
    base_bytes: int = INTERPRETER_BYTES

    def prepare(
        self, *, jail: Path, plan_fd: int, child_ends: tuple[int, int], arena: Arena | DeviceArena, limits: Limits,
        n_threads: int, seccomp: bool, handle: str = "",
    ) -> list[str]:  # fmt: skip
        plan = {
            "plan": ArgumentPlan.of(self.task).model_dump(mode="json"),
            "entry": self.task.entry,
            "files": json.loads(self.source.read_text())["files"],
            "n_threads": n_threads,
            "handle": handle,
            "memory_bytes": limits.memory_bytes + arena.n_bytes + self.base_bytes,
        }
        os.write(plan_fd, json.dumps(plan).encode())
        numbers = [*child_ends, -1 if self.device else arena.fd, arena.n_bytes, plan_fd]
        return [*(str(number) for number in numbers), "1" if seccomp else "0"]


@dataclass(frozen=True, kw_only=True)
class CudaLaunch:
    """Machine code for the device and what to launch of it; our own process does the rest."""

    kernels: tuple[tuple[Path, str], ...]
    """Where each kernel of the plan lies, and its name there."""
    plan: LaunchPlan
    task: Task


def make_launch(language: str, artifact: Artifact, task: Task) -> Launch | CudaLaunch:
    """How to start what a toolchain built."""
    device = task.platform == "cuda"
    if language == "python":
        return PythonLaunch(source=Path(artifact.path), task=task, device=device)
    if not device:
        return LibraryLaunch(library=Path(artifact.path))
    record = Path(artifact.path)
    built = DeviceBuilt.from_json(record.read_text())
    kernels = tuple((cubin_path(record, kernel), kernel.function) for kernel in built.kernels)
    return CudaLaunch(kernels=kernels, plan=built.plan, task=task)
