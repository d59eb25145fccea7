"""Runs one command and outlives everything that it starts. A script of its own, which imports nothing of ours.

    python -I -S supervisor.py TIMEOUT_S LIFELINE PROGRAM ARGUMENT...

It becomes the foster parent of all its descendants (Linux: child subreaper), so that neither a session of its own nor
a daemon's double fork takes a process out of its sight. When the command ends, when the time is up, or when LIFELINE
(a pipe) is closed by the campaign's process, killed or not, all of them are stopped, killed and buried. Its own end is
the last thing that happens. It exits with the command's code, 128 + N after signal N, or one of the codes below.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path

TIMED_OUT, CUT_OFF, NO_PROGRAM = 251, 252, 253
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LOOK_EVERY_S = 0.05
BRISK_S = 2.0


def main(arguments: list[str]) -> int:
    deadline = time.monotonic() + float(arguments[0])
    lifeline, argv = int(arguments[1]), arguments[2:]
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the lifeline alone says when to end
    child = os.fork()
    if child == 0:
        os.close(lifeline)
        _become(argv)
    try:
        return _watch(child, lifeline, deadline)
    finally:
        _kill_all(child)


def _become(argv: list[str]) -> None:
    """In the child: a session of its own; dies with the supervisor, should that be killed."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error.strerror}\n".encode(errors="replace"))
    os._exit(NO_PROGRAM)


def _watch(child: int, lifeline: int, deadline: float) -> int:
    """Until the command itself has ended; other descendants are buried on the way."""
    while True:
        for pid, status in _reap():
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return TIMED_OUT
        if select.select([lifeline], [], [], min(LOOK_EVERY_S, left_s))[0] and not os.read(lifeline, 1):
            return CUT_OFF


def _reap() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def _kill_all(child: int) -> None:
    """Returns when nothing is left. One that forks and ends at once, again and again, becomes a child of this process
    each time: it is caught by being fast, so there is no pause at first."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        os.killpg(child, signal.SIGKILL)
        return
    began = time.monotonic()
    while _has_children():
        stopped: list[int] = []
        _stop_below(os.getpid(), stopped)
        for pid in stopped:
            _send(pid, signal.SIGKILL)
        if time.monotonic() - began > BRISK_S:
            time.sleep(LOOK_EVERY_S)


def _has_children() -> bool:
    """Buries the dead first."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True


def _stop_below(pid: int, stopped: list[int]) -> None:
    """Top down: one that is stopped has no further children by the time they are looked for."""
    children = _children(pid)
    for child in children:
        _send(child, signal.SIGSTOP)
        stopped.append(child)
    for child in children:
        _stop_below(child, stopped)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _children(pid: int) -> list[int]:
    """Of all threads of a process; none when it has ended."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path("/proc", str(pid), "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def _prctl(option: int, value: int) -> None:
    """Only Linux has it; elsewhere a process that leaves the command's session gets away."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
