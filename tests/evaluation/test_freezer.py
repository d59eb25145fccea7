"""A process that stands still outside its windows: nothing runs, nothing is written, and its end is noticed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.evaluation.freezer import Freezer, Gone, Moved, grandchild

COUNTS = "import sys, threading\nn = 0\ndef count():\n    global n\n    while True: n += 1\nthreading.Thread(target=count, daemon=True).start()\nfor line in sys.stdin: print(n, flush=True)"  # noqa: E501


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", COUNTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()


def ask(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("?\n")
    process.stdin.flush()
    return process.stdout.readline()


def test_a_background_thread_makes_no_progress_outside_windows(child: subprocess.Popen[str]) -> None:
    freezer = Freezer(child.pid)
    ask(child)
    freezer.halt()
    first = int(freezer.window(lambda: ask(child)).reply)
    time.sleep(0.3)
    second = int(freezer.window(lambda: ask(child)).reply)
    time.sleep(0.0)
    free = Freezer(child.pid, enabled=False)
    freezer_off_first = int(free.window(lambda: "0").reply)
    assert second - first < 3_000_000, "0.3 s of counting would be many millions"
    assert freezer_off_first == 0


def test_a_window_accounts_for_processor_time(child: subprocess.Popen[str]) -> None:
    freezer = Freezer(child.pid)
    ask(child)
    freezer.halt()

    def wait() -> str:
        time.sleep(0.1)
        return "done"

    window = freezer.window(wait, glance=lambda: "seen")
    assert window.reply == "done"
    assert window.seen == "seen"
    assert 0.1 <= window.seconds <= window.open_s
    assert 0.01 < window.cpu_s < 0.5, "the counting thread ran all the while"
    assert freezer.core is not None


def test_the_end_of_the_process_is_noticed(child: subprocess.Popen[str]) -> None:
    freezer = Freezer(child.pid)
    freezer.halt()
    child.kill()
    child.wait()
    with pytest.raises(Gone):
        freezer.halt()
    with pytest.raises(Gone):
        freezer.window(lambda: "")


WAKES_ITSELF = """
import ctypes, signal, sys, time
libc, timer, due = ctypes.CDLL(None), ctypes.c_void_p(), float("inf")

def work(number, frame):
    global due
    if time.monotonic() < due: return
    due = float("inf")
    until = time.process_time() + float(sys.argv[1])
    while time.process_time() < until: pass
    signal.raise_signal(signal.SIGSTOP)

signal.signal(signal.SIGCONT, work)
libc.timer_create(1, (ctypes.c_int * 16)(0, 0, signal.SIGCONT, 0), ctypes.byref(timer))
for line in sys.stdin:
    if line == "arm\\n":
        due = time.monotonic() + 0.2
        libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 250_000_000), None)
    print("done", flush=True)
"""


@pytest.mark.parametrize(("burns_s", "n_forgiven"), [(0.005, 0), (0.0004, 1)])
def test_who_wakes_himself_is_told_by_the_time_he_used_though_he_has_stopped_again(
    burns_s: float, n_forgiven: int
) -> None:
    """A little of it once is forgiven, since a scheduler can be to blame; not again and again."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAKES_ITSELF, str(burns_s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def arm() -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("arm\n")
        process.stdin.flush()
        return process.stdout.readline()

    def wake_itself() -> None:
        freezer.window(arm)
        time.sleep(0.7)
        assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def wake_itself_again() -> None:
        for _ in range(5):
            wake_itself()

    try:
        ask(process)
        freezer = Freezer(process.pid)
        freezer.halt()
        for _ in range(20):  # who stands is never accused
            freezer.window(lambda: ask(process))
        wake_itself()
        for _ in range(n_forgiven):
            wake_itself()
        with pytest.raises(Moved, match="while it had to stand still"):
            wake_itself_again()
    finally:
        process.kill()
        process.wait()


FAMILY = """
import mmap, os, sys, threading
memory = mmap.mmap(-1, 4096)

def count(at):
    n = 0
    while True:
        n += 1
        memory[8 * at : 8 * at + 8] = n.to_bytes(8, "little")

def start(at):
    if os.fork() == 0:
        if at == 1 and os.fork() != 0:
            os._exit(0)
        count(at)

thread = threading.Thread(target=start, args=(0,))
thread.start()
thread.join()
start(1)
for line in sys.stdin:
    print(*(int.from_bytes(memory[8 * at : 8 * at + 8], "little") for at in range(2)), flush=True)
"""
INIT = """
import ctypes, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # who loses its parent becomes this one's child, as in a namespace
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""


def test_whoever_a_process_started_stands_still_with_it() -> None:
    """A child of a thread that has ended, and a child of a child that has."""
    command = [sys.executable, "-c", INIT, FAMILY]
    init = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )  # fmt: skip

    def counts(line: str) -> tuple[int, ...]:
        return tuple(int(word) for word in line.split())

    try:
        while 0 in counts(ask(init)):
            time.sleep(0.01)
        pid = grandchild(init.pid, 1)
        assert pid is not None
        freezer = Freezer(pid, whole=True)
        freezer.halt()
        first = counts(freezer.window(lambda: ask(init)).reply)
        time.sleep(0.5)
        second = counts(freezer.window(lambda: ask(init)).reply)
        freezer.wake()
        time.sleep(0.5)
        third = counts(ask(init))
        for before, still, after in zip(first, second, third, strict=True):
            assert still - before < (after - still) / 2, (first, second, third)
    finally:
        os.killpg(init.pid, signal.SIGKILL)
        init.wait()


def test_grandchild_follows_the_only_children() -> None:
    inner = "import subprocess as s, sys; s.Popen([sys.executable, '-c', 'input()'], stdin=s.PIPE).wait()"
    process = subprocess.Popen([sys.executable, "-c", inner])
    try:
        deadline = time.monotonic() + 20
        while (found := grandchild(process.pid, 1)) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert found not in (None, process.pid)
        assert grandchild(process.pid, 5) is None
    finally:
        subprocess.run(["pkill", "-P", str(process.pid)], check=False)
        process.kill()
        process.wait()
