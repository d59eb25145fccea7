"""Whatever a command starts ends with it: on time-out, on its own end, and when the campaign's process dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelevolve.proposers.command.run import run_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a child subreaper")

FAMILY = """
import os, signal, subprocess, sys, time
mark, end = sys.argv[1], float(sys.argv[2])
def late(path):
    time.sleep(3)
    open(path, "w").write("late")
    time.sleep(600)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:                      # a child in the group
    late(mark + "-child")
if os.fork() == 0:                      # a session of its own, as setsid(1) makes
    os.setsid()
    late(mark + "-session")
if os.fork() == 0:                      # a daemon: its parent is gone at once
    os.setsid()
    if os.fork() == 0:
        late(mark + "-daemon")
    os._exit(0)
if os.fork() == 0:                      # one that forks as fast as it can
    os.setsid()
    until = time.time() + 20            # should nobody stop it, a test that was cut off leaves no load behind
    while time.time() < until:
        if os.fork():
            os._exit(0)
    os._exit(0)
print("started", flush=True)
time.sleep(end)
"""


def alive(mark: str) -> list[int]:
    """Processes whose command line holds `mark`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words, state = (entry / "cmdline").read_bytes(), (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if mark.encode() in words and state[0] != "Z":
                found.append(int(entry.name))
    return found


def test_nothing_of_it_is_alive_after_its_time_and_nothing_is_written_later(tmp_path: Path) -> None:
    """PS1 PS2"""
    mark = str(tmp_path / "mark")
    began = time.monotonic()
    ran = run_command(
        [sys.executable, "-c", FAMILY, mark, "600"], folder=tmp_path, environment={"PATH": "/usr/bin:/bin"},
        timeout_s=1.5,
    )  # fmt: skip
    assert time.monotonic() - began < 6
    assert ran.timed_out
    assert "started" in ran.output
    assert alive(mark) == []
    time.sleep(2.5)
    assert list(tmp_path.glob("mark-*")) == []


def test_what_it_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    ran = run_command(
        [sys.executable, "-c", FAMILY, mark, "0.3"], folder=tmp_path, environment={"PATH": "/usr/bin:/bin"},
        timeout_s=60,
    )  # fmt: skip
    assert (ran.code, ran.timed_out) == (0, False)
    assert ran.seconds < 20
    assert alive(mark) == []


CAMPAIGN = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to it
from kernelevolve.proposers.command.run import run_command
run_command([sys.executable, "-c", sys.argv[1], sys.argv[2], "600"], folder=Path(sys.argv[3]),
            environment={"PATH": "/usr/bin:/bin"}, timeout_s=600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_when_the_campaigns_process_is_killed_or_interrupted(number: signal.Signals, tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    process = subprocess.Popen(
        [sys.executable, "-c", CAMPAIGN, FAMILY, mark, str(tmp_path)], stderr=subprocess.DEVNULL
    )  # fmt: skip
    _until(lambda: len(alive(mark)) > 4)
    process.send_signal(number)
    process.wait(20)
    _until(lambda: alive(mark) == [])


def test_an_agent_that_kills_its_supervisor_dies_with_it(tmp_path: Path) -> None:
    script = "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)"
    mark = str(tmp_path)
    ran = run_command(
        [sys.executable, "-c", script, mark], folder=tmp_path, environment={"PATH": "/usr/bin:/bin"}, timeout_s=30
    )  # fmt: skip
    assert ran.code == -signal.SIGKILL
    _until(lambda: alive(mark) == [])


def test_exit_codes_and_signals_are_told(tmp_path: Path) -> None:
    for script, code in (("exit 7", 7), ("kill -SEGV $$", 128 + signal.SIGSEGV)):
        ran = run_command(["sh", "-c", script], folder=tmp_path, environment={"PATH": "/usr/bin:/bin"}, timeout_s=30)
        assert ran.code == code
    ran = run_command(["./absent"], folder=tmp_path, environment={"PATH": "/usr/bin:/bin"}, timeout_s=30)
    assert not ran.started
    assert "cannot start ./absent" in ran.output


def _until(done: object, limit_s: float = 15.0) -> None:
    assert callable(done)
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)
