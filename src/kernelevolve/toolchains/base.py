"""The contract of a toolchain: source in, a file the runner can load out. It never loads the file itself."""

from __future__ import annotations

from typing import Protocol

from pydantic import Field

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import CompileMessage, LaneName


class Artifact(Value):
    """A built candidate. `sha256` is over the file's bytes: what was checked is what is timed."""

    path: str
    sha256: str
    seconds: float
    cached: bool
    messages: tuple[CompileMessage, ...] = ()


class BuildFailure(Value):
    """The candidate's fault, as a value. `messages` holds at least one error."""

    messages: tuple[CompileMessage, ...] = Field(min_length=1)
    seconds: float = 0.0


class Toolchain(Protocol):
    """One per language. Failing to build a candidate returns `BuildFailure`; a missing or broken compiler raises
    `MachineError`. Building the same (candidate, task ABI, compiler) twice compiles once."""

    language: str
    suffixes: tuple[str, ...]
    lane: LaneName
    """device_code: our own code enters the candidate's kernel and no other code of its runs by design. host: the
    candidate's own host code decides what happens in a call."""

    def problem(self) -> str | None:
        """None when usable, else one line: what is missing and how to get it."""
        ...

    def inspect(self, task: Task, candidate: Candidate) -> str | None:
        """None when this could be a candidate for the task, else one line saying why not. Runs nothing."""
        ...

    def build(self, task: Task, candidate: Candidate, *, timeout_s: float) -> Artifact | BuildFailure: ...
