"""What the processes that candidates run in have in common: how their runners are made, entered, left and read."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from kernelevolve.errors import MachineError
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.model.value import sha256_text
from kernelevolve.toolchains.process import run_tool

LOG_BYTES = 4096
START_TIMEOUT_S = 60.0


def compiled(name: str, sources: Sequence[str], *, cache: Path, compiler: str, library: bool = False) -> Path:
    """A program of ours, or a library, built once per content of its sources (the first is compiled) and compiler.
    Raises MachineError."""
    paths = [Path(__file__).with_name(source) for source in sources]
    key = sha256_text("".join(path.read_text() for path in paths) + compiler)[:24]
    binary = cache / "runner" / key / name
    if binary.exists():
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        kind = ["-shared", "-fPIC"] if library else []
        command = [compiler, "-std=c++20", "-O2", *kind, str(paths[0]), "-o", name, "-ldl"]
        finished = run_tool(command, folder=Path(folder), timeout_s=120)
        if finished.returncode != 0:
            raise MachineError(f"cannot compile {sources[0]}: {finished.text[:400]}")
        (Path(folder) / name).replace(binary)
    return binary


class CandidateProcess(ABC):
    """Use as a context manager: leaving it kills the process whole."""

    isolation: tuple[str, ...] = ()
    """Sandbox mechanisms that are active, by the process' own word before the candidate was loaded."""

    def __init__(self) -> None:
        self._log = os.memfd_create("ke-log", os.MFD_CLOEXEC)
        self.bound: dict[int, Arguments] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _start(self) -> None:
        """Wait until the candidate is loaded. Raises CandidateFault and MachineError."""

    @abstractmethod
    def close(self) -> None:
        """Kill everything the candidate started and wait until it is gone."""

    @property
    def printed(self) -> str:
        """The start of what the candidate wrote to stdout and stderr."""
        return os.pread(self._log, LOG_BYTES, 0).decode(errors="replace").replace("\0", "")
