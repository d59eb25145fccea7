"""Starts a command under its supervisor, reads what it prints, and returns when nothing of it is left."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernelevolve.proposers.command.supervisor import NO_PROGRAM, TIMED_OUT

SUPERVISOR = Path(__file__).with_name("supervisor.py")
HEAD_BYTES = TAIL_BYTES = 256 * 1024
GRACE_S = 5.0
"""For the supervisor to kill what is left, beyond the command's own time."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """`output`: standard output and error in one, its middle left out where it is long."""

    code: int
    output: str
    seconds: float
    timed_out: bool = False
    started: bool = True


def run_command(
    argv: Sequence[str], *, folder: Path, environment: Mapping[str, str], timeout_s: float, most_s: float = GRACE_S
) -> Ran:
    """Standard input is closed. No descendant of the command is alive when this returns or raises; only where one
    cannot be killed within `most_s` (it hangs in the kernel) the supervisor is left behind to go on trying."""
    began = time.monotonic()
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(SUPERVISOR), repr(timeout_s), str(read_end), *argv],
            cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, pass_fds=(read_end,), start_new_session=True,
        )  # fmt: skip
    except OSError:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    assert process.stdout is not None
    printed = _Printed(process.stdout)
    try:
        code = process.wait(timeout_s + most_s)
    except subprocess.TimeoutExpired:
        code = TIMED_OUT
    finally:
        os.close(write_end)  # whatever happened, a Ctrl-C as well: the supervisor sees it and ends all
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(most_s)
        text = printed.end(most_s)
    seconds = time.monotonic() - began
    timed_out = code == TIMED_OUT and seconds >= timeout_s
    return Ran(code=code, output=text, seconds=seconds, timed_out=timed_out, started=code != NO_PROGRAM)


class _Printed:
    """Reads a stream to its end in a thread, whatever comes, and keeps its head and its tail."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._head, self._tail, self._n_bytes = b"", b"", 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def end(self, wait_s: float) -> str:
        self._thread.join(wait_s)
        left_out = self._n_bytes - len(self._head) - len(self._tail)
        middle = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out > 0 else b""
        return (self._head + middle + self._tail).decode(errors="replace")

    def _read(self) -> None:
        with contextlib.suppress(OSError), self._stream:
            while chunk := os.read(self._stream.fileno(), 2**16):
                self._n_bytes += len(chunk)
                room = HEAD_BYTES - len(self._head)
                self._head += chunk[:room] if room > 0 else b""
                self._tail = (self._tail + chunk[max(0, room) :])[-TAIL_BYTES:]
