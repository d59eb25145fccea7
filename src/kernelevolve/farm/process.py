"""The local farm: one judge process, started on the first job and restarted when it dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

from kernelevolve.errors import JudgeError, MachineError, TaskError
from kernelevolve.farm.base import Ticket
from kernelevolve.model.admission import Admission
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.verdict import Verdict

QUIET = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
"""The judge's own threads must not spin while a candidate is timed: libgomp's default does, for milliseconds."""
ROOMY = {"MALLOC_MMAP_THRESHOLD_": str(64 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(256 * 2**20)}
"""What it makes draws of is used again at once: given back to the system each time, it comes back page by page."""
JUDGE_MODULE = "kernelevolve.evaluation.judge"


class ProcessTicket:
    """A place in the judge's queue."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._line: str | None = None
        self._why = ""

    def settle(self, line: str | None, why: str = "") -> None:
        self._line, self._why = line, why
        self._done.set()

    def done(self) -> bool:
        return self._done.is_set()

    def result(self, timeout_s: float | None = None) -> Verdict:
        """Raises JudgeError when the judge failed (never the candidate's fault) and TaskError for a faulty task."""
        answer = self.wait(timeout_s)
        if "verdict" not in answer:
            raise JudgeError("the judge gave no verdict")
        return Verdict.from_json(json.dumps(answer["verdict"]))

    def wait(self, timeout_s: float | None = None) -> dict[str, Any]:
        """The judge's answer, whatever it is. Raises as `result` does."""
        if not self._done.wait(timeout_s):
            raise JudgeError(f"no answer within {timeout_s} s")
        if self._line is None:
            raise JudgeError(self._why)
        answer: dict[str, Any] = json.loads(self._line)
        if "task_faults" in answer:
            raise TaskError(answer["where"], answer["task_faults"])
        if "machine_error" in answer:
            raise JudgeError(str(answer["machine_error"]))
        return answer


class ProcessFarm:
    """Jobs are judged in the order they were submitted; their builds overlap."""

    def __init__(self, *, n_threads: int, cache_dir: Path) -> None:
        self._cache = cache_dir
        self._n_threads = n_threads
        self._waiting: deque[ProcessTicket] = deque()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closed = False
        self.n_started = 0

    def prepare(self, preparation: Preparation) -> None:
        self._send("prepare", preparation).wait()

    def admit(self, preparation: Preparation) -> Admission:
        plain = Preparation.model_validate(preparation.model_dump(include=set(Preparation.model_fields)))
        answer = self._send("admit", plain).wait()
        return Admission.from_json(json.dumps(answer["admission"]))

    def submit(self, job: Job) -> Ticket:
        return self._send("judge", job)

    def _send(self, verb: str, work: Preparation) -> ProcessTicket:
        ticket = ProcessTicket()
        with self._lock:
            if self._closed:
                raise MachineError("the farm is closed")
            process = self._alive()
            self._waiting.append(ticket)
            try:
                assert process.stdin is not None
                process.stdin.write(f'{{"do":"{verb}","work":{work.to_json()}}}\n')
                process.stdin.flush()
            except BrokenPipeError:
                self._waiting.remove(ticket)
                ticket.settle(None, "the judge's process has ended")
        return ticket

    def close(self) -> None:
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(timeout=2.0 if not self._waiting else 0.1)
        except subprocess.TimeoutExpired:
            process.kill()  # its children are told by the kernel (PR_SET_PDEATHSIG)
            process.wait()

    def _alive(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            environment = dict(os.environ, OMP_NUM_THREADS=str(self._n_threads), PYTHONUNBUFFERED="1", **QUIET, **ROOMY)
            self._cache.mkdir(parents=True, exist_ok=True)
            with (self._cache / "judge.log").open("a") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", JUDGE_MODULE, str(self._cache)], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=log, text=True, env=environment, start_new_session=True,
                )  # fmt: skip
            self.n_started += 1
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self._process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if '"ready"' in line[:20]:
                continue
            with self._lock:
                ticket = self._waiting.popleft() if self._waiting else None
            if ticket is not None:
                ticket.settle(line)
        process.wait()
        log = self._cache / "judge.log"
        last = (log.read_text(errors="replace").strip().splitlines() or [""])[-1]
        why = f"the judge's process ended ({process.returncode}): {last[:200]} (see {log})"
        with self._lock:
            while self._waiting:
                self._waiting.popleft().settle(None, why)
