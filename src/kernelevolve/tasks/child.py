"""Runs one of our scripts on untrusted files in a child process and reads one bounded answer back."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MAX_ANSWER_BYTES = 4 * 2**20
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "LANG")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Either `data`, complete and within bounds, or the reason why there is none."""

    data: bytes = b""
    fault: str = ""


def ask(script: Path, arguments: list[str], *, folder: Path, timeout_s: float) -> Reply:
    """Run `script` as the leader of its own process group; its first argument is the descriptor to answer on.

    Whatever happens, the whole group is dead when this returns. The child gets no standard streams and none of
    this process's environment beyond search paths.
    """
    deadline = time.monotonic() + timeout_s
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", str(script), str(write_end), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(write_end,), start_new_session=True, cwd=folder,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    except OSError:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    try:
        data = _read_all(read_end, deadline)
        too_long = data is not None and len(data) > MAX_ANSWER_BYTES
        code = 0 if too_long else _exit_code(process, deadline)
    finally:
        os.close(read_end)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if data is None or code is None:
        return Reply(fault=f"did not finish within {timeout_s:g} s; look for an endless loop or use smaller sizes")
    if too_long:
        return Reply(fault="answered with too much data")
    if code < 0:
        return Reply(fault=_signal_fault(-code))
    if not data:
        return Reply(fault=f"ended the Python process (exit code {code}); remove the call that exits")
    return Reply(data=data)


def _read_all(handle: int, deadline: float) -> bytes | None:
    """Everything until all writers are gone, cut just above the limit. None: the deadline passed."""
    data = b""
    while len(data) <= MAX_ANSWER_BYTES:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([handle], [], [], left)[0]:
            return None
        chunk = os.read(handle, 2**16)
        if not chunk:
            break
        data += chunk
    return data


def _exit_code(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    try:
        return process.wait(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _signal_fault(number: int) -> str:
    if number == signal.SIGXCPU:
        return "used up its processor time; look for an endless loop or use smaller sizes"
    if number == signal.SIGKILL:
        return "was killed by the system, most likely for its memory; use smaller sizes"
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"crashed with {name}"
