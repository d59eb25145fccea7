"""The contract of a farm: a place where jobs are judged."""

from __future__ import annotations

from typing import Protocol

from kernelevolve.model.admission import Admission
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.verdict import Verdict


class Ticket(Protocol):
    """A job that was handed in."""

    def done(self) -> bool:
        """Whether `result` would answer at once."""
        ...

    def result(self, timeout_s: float | None = None) -> Verdict:
        """Waits for the verdict; asked again, gives the same one. Raises MachineError when the machine failed, which
        says nothing about the candidate, and TaskError when the task itself cannot be judged."""
        ...


class Farm(Protocol):
    """Jobs handed in together may overlap, except that only one of them is timed at any moment."""

    def prepare(self, preparation: Preparation) -> None:
        """Make ready for jobs that start from this preparation, so that the first of them pays no more than the
        others. Blocks; may do nothing. Raises MachineError and TaskError."""
        ...

    def admit(self, preparation: Preparation) -> Admission:
        """Put fake and honest answers before the task's rule. Blocks. Raises MachineError and TaskError."""
        ...

    def submit(self, job: Job) -> Ticket:
        """Returns soon. Raises MachineError when no job can be taken."""
        ...

    def close(self) -> None:
        """End what still runs, within seconds. May be called twice; nothing can be submitted afterwards."""
        ...
