"""The judge's end of an interpreter that is started once and forked for each Python candidate that is screened.

Importing torch takes a second or more, most of what judging a small candidate costs. The template has done that, knows
no task and no answer, and runs no candidate: a child goes through the same walls as a process started anew. What its
children share is where libraries lie in memory, which may favour one kernel over another for as long as the template
lives. So whatever is measured for a claim has processes started anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kernelevolve.errors import MachineError
from kernelevolve.evaluation.candidate_process import START_TIMEOUT_S, compiled
from kernelevolve.evaluation.cores import on

MODULE = "kernelevolve.evaluation.python_template"
FORK_TIMEOUT_S = 20.0
_LOG_BYTES = 2000


class Started(Protocol):
    """The outermost process of a candidate's, as `subprocess` would give it."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def terminate(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class Forked:
    """A process whose parent is the template, which reaps it; how it ended is for the candidate's own init to say."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._handle = os.pidfd_open(pid)
        except ProcessLookupError:
            self._handle = -1

    def poll(self) -> int | None:
        return 0 if self._ended(0.0) else None

    def terminate(self) -> None:
        if self._handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        if not self._ended(timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return 0

    def _ended(self, timeout_s: float | None) -> bool:
        if self._handle >= 0 and select.select([self._handle], [], [], timeout_s)[0]:
            os.close(self._handle)
            self._handle = -1
        return self._handle < 0


class Template:
    """`environment` and `cores` are what its children have. Raises MachineError."""

    def __init__(self, *, library: Path, environment: Mapping[str, str], cores: set[int]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = os.memfd_create("ke-template", os.MFD_CLOEXEC)
        with theirs, on(cores):
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-m", MODULE, str(theirs.fileno()), str(library)],
                pass_fds=[theirs.fileno()], env=environment, cwd="/", stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=self._log, start_new_session=True,
            )  # fmt: skip
        self._is_ready = False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def start(self, command: Sequence[str], arguments: Sequence[str], passed: Sequence[int]) -> Forked:
        """A child that enters its walls by `ke_enter` with this command and goes on with these arguments of
        `python_runner`. It has the descriptors `passed`, by the numbers they have here. Raises MachineError."""
        self.wait_until_ready()
        request = {"command": [*command, "."], "arguments": list(arguments), "numbers": list(passed)}
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], list(passed))
        except OSError as error:
            raise self._broken(str(error)) from error
        return Forked(int(self._answer(FORK_TIMEOUT_S)))

    def wait_until_ready(self) -> None:
        """Raises MachineError."""
        if not self._is_ready:
            self._answer(START_TIMEOUT_S)
            self._is_ready = True

    def _answer(self, timeout_s: float) -> bytes:
        if select.select([self._socket], [], [], timeout_s)[0] and (text := self._socket.recv(64)):
            return text
        raise self._broken("no answer")

    def _broken(self, what: str) -> MachineError:
        last = self._last_line()
        self.close()
        return MachineError(f"the process that Python candidates are forked from is broken ({what}) {last}".strip())

    def _last_line(self) -> str:
        if self._log < 0:
            return ""
        printed = os.pread(self._log, _LOG_BYTES, max(0, os.fstat(self._log).st_size - _LOG_BYTES))
        return printed.decode(errors="replace").strip().rpartition("\n")[2]

    def close(self) -> None:
        """Its children end with it."""
        self._socket.close()
        try:
            self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._log >= 0:
            os.close(self._log)
            self._log = -1


class Templates:
    """One for each environment and set of processors that is asked for."""

    def __init__(self, *, cache: Path, compiler: str) -> None:
        self._cache, self._compiler = cache, compiler
        self._kept: dict[str, Template] = {}

    def of(self, environment: Mapping[str, str], cores: set[int]) -> Template:
        """Raises MachineError."""
        key = json.dumps([sorted(environment.items()), sorted(cores)])
        kept = self._kept.get(key)
        if kept is not None and not kept.alive:
            self._kept.pop(key).close()
            kept = None
        if kept is None:
            library = compiled(
                "ke-enter.so", ("runner.cpp",), cache=self._cache, compiler=self._compiler, library=True
            )  # fmt: skip
            kept = self._kept[key] = Template(library=library, environment=environment, cores=cores)
        return kept

    def close(self) -> None:
        for template in self._kept.values():
            template.close()
        self._kept.clear()
