"""The contract of a platform: what the machine is, and what is missing before it can be used."""

from __future__ import annotations

from typing import Protocol

from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.value import Value


class Check(Value):
    """One line of `doctor`. `fix` is a command or an action, empty when ok."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


class Platform(Protocol):
    name: str
    kind: str

    def facts(self) -> PlatformFacts:
        """Read and measured once per machine, then cached. Raises MachineError."""
        ...

    def checks(self) -> list[Check]: ...
