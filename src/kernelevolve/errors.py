"""Everything kernelevolve raises.

KernelEvolveError
├── UsageError            the caller asked for something that does not exist or does not fit   (exit code 2)
│   ├── TaskError         a task file is wrong; `.faults` has one line per fault
│   ├── UnknownNameError  a name is in no table; the message lists the known ones
│   ├── ProposerError     a proposer cannot serve this task; the message says why
│   ├── ClosedError       the search of a campaign is over: it takes no more candidates
│   ├── NoisyError        a claim would rest on what a busy machine measured; nothing was begun
│   ├── SpentError        a limit on money or tokens would be passed; nothing was called
│   └── ClaimError        another process took the campaign over; nothing was stored
├── RecordError           stored text is not what its schema says                              (exit code 4)
└── MachineError          the machine failed, never the candidate                              (exit code 4)
    ├── ToolMissingError  a program or package is absent; the message has the one-line fix
    └── JudgeError        the judge process died or answered nonsense

What a *candidate* does wrong is a value (`Verdict`), never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence


class KernelEvolveError(Exception):
    """The root: catch this to catch all of ours."""


class UsageError(KernelEvolveError):
    pass


class TaskError(UsageError):
    def __init__(self, where: str, faults: Sequence[str]) -> None:
        self.where = where
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{where}: {fault}" for fault in self.faults))


class UnknownNameError(UsageError):
    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        self.known = tuple(sorted(known))
        super().__init__(f"unknown {what} '{name}'; known: {', '.join(self.known)}")


class ProposerError(UsageError):
    pass


class ClosedError(UsageError):
    pass


class NoisyError(UsageError):
    pass


class SpentError(UsageError):
    pass


class BusyError(UsageError):
    pass


class ClaimError(UsageError):
    pass


class RecordError(KernelEvolveError):
    pass


class MachineError(KernelEvolveError):
    pass


class ToolMissingError(MachineError):
    pass


class JudgeError(MachineError):
    pass
