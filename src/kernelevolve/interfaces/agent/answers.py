"""The form of every answer, and of every error."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from kernelevolve.errors import (
    BusyError,
    ClosedError,
    KernelEvolveError,
    MachineError,
    NoisyError,
    RecordError,
    SpentError,
    TaskError,
    ToolMissingError,
    UnknownNameError,
    UsageError,
)
from kernelevolve.interfaces.wording import printable
from kernelevolve.model.value import explain

VERSION = 1
STOP = "stop"
"""Not a verb of a campaign: ends a server that was started in the background."""
_KINDS: tuple[tuple[type[KernelEvolveError], str, str], ...] = (
    (SpentError, "spent", "call finish: the best candidates are measured again and proved; or open another campaign"),
    (NoisyError, "noisy", "wait until the machine is quiet and call finish again, or call it with force=true"),
    (ClosedError, "closed", "status has its claim; verdict and tree still answer; open another campaign to go on"),
    (BusyError, "busy", "use the server that drives it, or wait until it has ended, and try again"),
    (UnknownNameError, "unknown", "use one of the known names"),
    (TaskError, "task", "the task's files must be repaired; choose another task meanwhile"),
    (UsageError, "usage", "change the arguments as the message says and call again"),
    (RecordError, "record", "take numbers and ids from tree, status or campaigns"),
    (ToolMissingError, "machine", "install what the message names"),
    (MachineError, "machine", "nothing is wrong with the candidate: try again, and if it stays, tell a person"),
)  # fmt: skip
HTTP_STATUS = {
    "usage": 400, "unauthorized": 401, "unknown": 404, "busy": 409, "too_large": 413, "task": 422, "spent": 429,
    "record": 404, "machine": 503, "closed": 410, "noisy": 409,
}  # fmt: skip
MAX_TEXT = 4000


def answer(**fields: Any) -> dict[str, Any]:
    return {"v": VERSION, **fields}


def failure(kind: str, message: str, fix: str) -> dict[str, Any]:
    return {"v": VERSION, "error": {"kind": kind, "message": printable(message, MAX_TEXT), "fix": fix}}


def failure_of(error: KernelEvolveError) -> dict[str, Any]:
    for known, kind, fix in _KINDS:
        if isinstance(error, known):
            return failure(kind, str(error), fix)
    return failure("machine", str(error), "tell a person")


def failure_of_arguments(error: ValidationError, verb: str, known: list[str]) -> dict[str, Any]:
    fix = f"arguments of {verb}: {', '.join(known) or 'none'}"
    return failure("usage", f"{verb}: {explain(error)}", fix)
