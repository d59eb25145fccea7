"""Jobs judged by a given function, in this process, one after the other: for tests and debugging."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kernelevolve.errors import MachineError
from kernelevolve.farm.base import Ticket
from kernelevolve.model.admission import Admission
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.verdict import Verdict

Evaluate = Callable[[Job], Verdict]


class InlineTicket:
    def __init__(self, job: Job, evaluate: Evaluate, turn: threading.Lock) -> None:
        self._job = job
        self._evaluate = evaluate
        self._turn = turn
        self._answer: Verdict | MachineError | None = None

    def done(self) -> bool:
        return self._answer is not None

    def result(self, timeout_s: float | None = None) -> Verdict:
        """Judges at the first call. `timeout_s` cannot be kept: the function runs in this very thread. Of several
        threads that call, one judges at a time."""
        with self._turn:
            if self._answer is None:
                try:
                    self._answer = self._evaluate(self._job)
                except MachineError as error:
                    self._answer = error
        if isinstance(self._answer, MachineError):
            raise self._answer
        return self._answer


class InlineFarm:
    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._closed = False
        self._turn = threading.Lock()

    def prepare(self, preparation: Preparation) -> None:
        return

    def admit(self, preparation: Preparation) -> Admission:
        """Nothing is tried: the given function judges whatever it is asked."""
        return Admission(task_id=preparation.task.content_id, controls=(), n_seeds=0)

    def submit(self, job: Job) -> Ticket:
        if self._closed:
            raise MachineError("the farm is closed")
        return InlineTicket(job, self._evaluate, self._turn)

    def close(self) -> None:
        self._closed = True
