"""A child process that only runs while the judge's clock runs.

Outside its windows the process is stopped whole, threads included: nothing can poll for inputs before the clock
starts, and nothing can finish an answer after it has stopped. The command waits in the pipe before the process is
woken, so waking it costs what waking a reader costs anyway.

Where a candidate may start programs, all of its processes are stopped.

The sandbox leaves a process nothing that could let it go on by itself. Should it find something all the same, the
kernel's account of its processor time tells: it stands while the process does. Looking whether it is stopped when a
window opens would say less, at a higher price: whoever has woken himself can stop himself again, and there is a file to
read for each thread. The account is read at both ends of a window anyway.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STOP_TIMEOUT_S = 2.0
POLL_S = 2e-5
STILL_SHARE_NS, STILL_SLACK_NS = 20_000, 1_000_000
"""Processor time that is no proof: so much each time it stands still, and so much more in all. A thread can be seen to
stand when it has yet to leave its processor; where a scheduler takes it off just then, it does so later. On a crowded
machine that is seen once in many thousand times, and has been 52 us; who gains by waking himself does it every time."""


class Gone(Exception):
    """The process has ended."""


class Moved(Exception):
    """It used processor time while it had to stand still."""

    def __init__(self, used_ns: int) -> None:
        super().__init__(f"used {used_ns / 1e3:.0f} us of processor time while it had to stand still")


@dataclass(frozen=True, kw_only=True)
class Window:
    """One stretch of running. `seconds`: from the wake-up to the stop signal, on the judge's clock. `cpu_s`: processor
    time of all its threads meanwhile, by the kernel's account; `open_s` the wall time in which they could spend it.
    `seen`: what `glance` returned when the stop signal had just been sent. `device_s`: the same stretch on the clock
    of a device that did the work, without the launches' own cost."""

    reply: str
    seconds: float
    cpu_s: float
    open_s: float
    seen: Any = None
    device_s: float | None = None


class Freezer:
    def __init__(self, pid: int, *, enabled: bool = True, whole: bool = False) -> None:
        """`whole`: the process and all others of its pid namespace, whose init is its parent and ours."""
        self._pid = pid
        self._cpu_clock = (~pid << 3) | 2  # the kernel's name for "processor time of that process"
        self._enabled = enabled
        self._init = _parent(pid) if whole else None
        self._others: list[int] = []
        self._stood_ns: int | None = None
        """Its processor time when it had come to stand; None while it may run."""
        self._moved_ns = 0
        """What it has used beyond its share while it had to stand still."""

    @property
    def enabled(self) -> bool:
        return self._enabled

    def halt(self) -> None:
        """Stop it and wait until every thread stands. Raises Gone."""
        if self._enabled:
            self._signal(signal.SIGSTOP)
            self._wait_until_stopped()

    def stood(self) -> int:
        """To be asked before it is woken: its processor time in ns. Raises Gone, and Moved where it has not stood when
        it had been stopped."""
        cpu = self._cpu_ns()
        if self._stood_ns is not None:
            self._moved_ns = max(0, self._moved_ns + cpu - self._stood_ns - STILL_SHARE_NS)
            if self._moved_ns > STILL_SLACK_NS:
                raise Moved(self._moved_ns)
        return cpu

    def wake(self) -> None:
        """Raises Gone."""
        if not self._enabled:
            return
        self._stood_ns = None
        self._signal(signal.SIGCONT)
        for pid in self._others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def window(self, receive: Callable[[], str], glance: Callable[[], Any] | None = None) -> Window:
        """Let it run until `receive` returns. What `receive` raises passes through, the process then still runs.

        A stop signal takes effect when a thread takes it, which may be a millisecond later where processors are scarce.
        What changes in between was not there when the clock stopped: `glance` looks before, the caller again after.
        Raises Gone, and Moved where it has not stood when it had been stopped."""
        cpu = self.stood()
        started = time.perf_counter_ns()
        self.wake()
        reply = receive()
        if self._enabled:
            self._signal(signal.SIGSTOP)
        stopped = time.perf_counter_ns()
        seen = glance() if glance is not None else None
        if self._enabled:
            self._wait_until_stopped()
        ended = time.perf_counter_ns()
        return Window(
            reply=reply, seconds=(stopped - started) / 1e9, cpu_s=(self._cpu_ns() - cpu) / 1e9,
            open_s=(ended - started) / 1e9, seen=seen,
        )  # fmt: skip

    @property
    def core(self) -> int | None:
        """The processor it last ran on; None where the kernel does not say."""
        fields = _stat(f"/proc/{self._pid}/stat")
        return int(fields[36]) if fields else None

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.kill(self._pid, number)
        except ProcessLookupError:
            raise Gone from None

    def _cpu_ns(self) -> int:
        try:
            return time.clock_gettime_ns(self._cpu_clock)
        except OSError:
            raise Gone from None

    def _wait_until_stopped(self) -> None:
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while not _stands(self._pid):
            _pause(deadline)
        before, self._stood_ns = None, self._cpu_ns()
        while before != self._stood_ns:  # stopped, and on no processor any more
            if time.monotonic() > deadline:
                raise Gone
            before, self._stood_ns = self._stood_ns, self._cpu_ns()
        if self._init is not None:
            self._others = [pid for pid in self._stop_family(deadline) if pid != self._pid]

    def _stop_family(self, deadline: float) -> set[int]:
        """Everyone below init, standing. Whoever stands starts nobody, but who ends leaves children to others, whose
        lists may have been read already: only what two walks in a row find alike is everyone."""
        before: set[int] | None = None
        while True:
            found, moving = self._walk()
            if not moving and found == before:
                return found
            before = None if moving else found
            for pid in moving:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            if moving:
                _pause(deadline)

    def _walk(self) -> tuple[set[int], list[int]]:
        """(all there are, those of them that do not stand). Looked at before its children are: then none can come."""
        assert self._init is not None
        found: set[int] = set()
        moving: list[int] = []
        waiting = list(_children(self._init))
        while waiting:
            pid = waiting.pop()
            if pid in found:
                continue
            try:
                stands = _stands(pid)
            except Gone:  # ended, though nobody may have asked yet how; its children are init's now
                if pid == self._pid:
                    raise
                continue
            found.add(pid)
            moving += [] if stands else [pid]
            waiting += _children(pid)
        return found, moving


def _pause(deadline: float) -> None:
    time.sleep(POLL_S)  # the thread that must take the signal may wait for this very processor
    if time.monotonic() > deadline:
        raise Gone


def _stands(pid: int) -> bool:
    """Whether all of its threads are stopped. Raises Gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - on the path of every sample
    except (FileNotFoundError, ProcessLookupError):
        raise Gone from None
    states = [fields[0] for thread in threads if (fields := _stat(f"/proc/{pid}/task/{thread}/stat"))]
    if all(state in "ZX" for state in states):
        raise Gone
    return all(state in "TtZX" for state in states)


def grandchild(pid: int, depth: int) -> int | None:
    """The only child's only child ..., `depth` generations down; None when there is none (yet)."""
    for _ in range(depth):
        children = _children(pid)
        if not children:
            return None
        pid = children[0]
    return pid


def _parent(pid: int) -> int | None:
    fields = _stat(f"/proc/{pid}/stat")
    return int(fields[1]) if fields else None


def _children(pid: int) -> Sequence[int]:
    """Whatever thread of it started them."""
    if not _LISTS_CHILDREN:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            fields = _stat(f"{folder}/stat")
            if fields and int(fields[1]) == pid:
                found.append(int(folder.name))
        return found
    listed: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - on the path of every sample
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                listed += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return listed


_LISTS_CHILDREN = Path("/proc/thread-self/children").exists()


def _stat(path: str) -> list[str]:
    """The fields after the command's name: state, parent, .. Empty when the process is gone."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError):
        return []
    try:
        text = os.read(handle, 4096).decode(errors="replace")
    except ProcessLookupError:
        return []
    finally:
        os.close(handle)
    return text[text.rindex(")") + 2 :].split()
