"""A farm with a memory on disk: every job is judged once, whoever asks for it again gets the same verdict.

So many campaigns can be run on one machine's measurements: all of them see the same landscape, and together they cost
no more than the distinct jobs among them.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import IO

from pydantic import Field

from kernelevolve.errors import KernelEvolveError, MachineError, RecordError
from kernelevolve.farm.base import Farm, Ticket
from kernelevolve.model.admission import Admission
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.value import Value, canonical_json, sha256_text
from kernelevolve.model.verdict import Verdict

_START = b'{"key":'


class Line(Value):
    """One line of the table."""

    key: str = Field(description="`job_key` of the job")
    verdict: Verdict


def job_key(job: Job) -> str:
    """What a verdict is about: all of the job but its secret, which only seeds the draws, and who wrote the source."""
    parts: dict[str, object] = job.model_dump(mode="json", exclude={"task", "candidate", "user_baselines", "secret"})
    rivals = [rival.id for rival in job.user_baselines]
    return sha256_text(canonical_json([job.task.content_id, job.candidate.id, rivals, parts]))


class RecordedTicket:
    """A verdict that is known, or one that `inner` still owes: then whoever waits first has it written down."""

    def __init__(self, farm: RecordedFarm, key: str, inner: Ticket) -> None:
        self._farm = farm
        self._key = key
        self._inner = inner

    def done(self) -> bool:
        return self._inner.done()

    def result(self, timeout_s: float | None = None) -> Verdict:
        try:
            return self._farm.keep(self._key, self._inner.result(timeout_s))
        except KernelEvolveError:
            if self._inner.done():
                self._farm.forget(self._key)
            raise


class KnownTicket:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def done(self) -> bool:
        return True

    def result(self, timeout_s: float | None = None) -> Verdict:
        return self._verdict


class RecordedFarm:
    """`table` is a file of JSON lines, made when missing and only ever appended to; a line that a kill cut short is
    dropped. What is not in it `inner` judges, which starts nothing before that; without `inner` it is a MachineError,
    and the file is only read. A failure of the machine is no verdict and is not kept. One process at a time may
    append. Raises RecordError for a file that is no such table, MachineError when another process holds it."""

    def __init__(self, *, table: Path, inner: Farm | None = None) -> None:
        self._inner = inner
        self._table = table
        self._lock = threading.Lock()
        self._closed = False
        self._open: dict[str, RecordedTicket] = {}
        self._file: IO[bytes] | None = None
        if inner is None:
            self._known, _ = _read(table)
        else:
            self._file, self._known = _opened(table)
        self.n_judged = 0

    def __contains__(self, job: Job) -> bool:
        return job_key(job) in self._known

    def prepare(self, preparation: Preparation) -> None:
        """Left to the first job that is not in the table: there may be none."""

    def admit(self, preparation: Preparation) -> Admission:
        """Never recorded. Raises MachineError without `inner`."""
        return self._judge().admit(preparation)

    def submit(self, job: Job) -> Ticket:
        key = job_key(job)
        with self._lock:
            if self._closed:
                raise MachineError("the farm is closed")
            if (verdict := self._known.get(key)) is not None:
                # Two jobs with one key have equal identities, so the verdict names this candidate and task.
                return KnownTicket(verdict)
            if (ticket := self._open.get(key)) is None:
                ticket = self._open[key] = RecordedTicket(self, key, self._judge().submit(job))
            return ticket

    def keep(self, key: str, verdict: Verdict) -> Verdict:
        """Written down before anybody sees it. Of two verdicts about one job the first stays."""
        with self._lock:
            if (known := self._known.get(key)) is not None:
                return known
            if self._file is None:
                raise MachineError(f"{self._table}: the farm is closed, a verdict came too late to be kept")
            self._file.write(Line(key=key, verdict=verdict).to_json().encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self._known[key] = verdict
            self._open.pop(key, None)
            self.n_judged += 1
            return verdict

    def forget(self, key: str) -> None:
        """The machine failed: whoever hands the job in again has it judged anew."""
        with self._lock:
            self._open.pop(key, None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            file, self._file = self._file, None
        if self._inner is not None:
            self._inner.close()
        if file is not None:
            file.close()

    def _judge(self) -> Farm:
        if self._inner is None:
            raise MachineError(f"{self._table}: this job was never judged, and there is no farm to judge it now")
        return self._inner


def _opened(table: Path) -> tuple[IO[bytes], dict[str, Verdict]]:
    """For appending, locked, without a last line that was cut short; and what is in it."""
    table.parent.mkdir(parents=True, exist_ok=True)
    file = table.open("a+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        known, n_bytes = _read(table)
        file.truncate(n_bytes)
    except OSError as error:
        file.close()
        raise MachineError(f"{table} cannot be appended to, or another process does so: {error.strerror}") from error
    except RecordError:
        file.close()
        raise
    return file, known


def _read(table: Path) -> tuple[dict[str, Verdict], int]:
    """The verdicts, and how many bytes their lines take: what follows was cut short. Raises RecordError."""
    known: dict[str, Verdict] = {}
    n_bytes = 0
    for number, text in enumerate(table.read_bytes().splitlines(keepends=True) if table.exists() else (), 1):
        try:
            if not text.endswith(b"\n") and _START.startswith(text[: len(_START)]):
                break
            line = Line.from_json(text.decode())
        except (RecordError, UnicodeDecodeError) as error:
            raise RecordError(f"{table}:{number}: no line of a table of verdicts: {error}") from error
        known.setdefault(line.key, line.verdict)
        n_bytes += len(text)
    return known, n_bytes
