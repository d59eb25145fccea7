"""The host lane: a Python module in the sandbox, judged by the same rules, with nothing of ours to find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.evaluation.judge import Judge
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Verdict

GOOD = "import torch\n\ndef row_scale(x, w, y, R, C):\n    torch.mul(x, w, out=y)\n    y += 1\n"


@pytest.fixture(scope="module")
def judge(cache: Path) -> Iterator[Judge]:
    judge = Judge(cache=cache)
    yield judge
    judge.close()


def verdict(judge: Judge, task: Task, *sources: str) -> Verdict:
    files = tuple(SourceFile(path=f"file{index}.py", text=text) for index, text in enumerate(sources))
    candidate = Candidate(language="python", files=files, origin=Origin(proposer="tests"))
    job = Job(task=task, candidate=candidate, level="check", secret="s", limits=Limits(call_s=5.0))
    return judge.verdict(job)


def test_a_right_module_is_correct_and_the_record_says_host_lane(judge: Judge, row_scale: Task) -> None:
    found = verdict(judge, row_scale, GOOD)
    assert found.correct, found.message
    assert found.lane == "host"
    assert {"pid-ns", "net-ns", "seccomp", "no-capabilities"} <= set(found.isolation)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_thread_of_its_process_stands_behind_the_same_walls(
    judge: Judge, row_scale: Task, n_threads: int
) -> None:
    """Also those that math libraries started before it was loaded: a signal's handler may run in any of them."""
    source = (
        "import numpy, os, torch\n"
        "numpy.ones((500, 500)) @ numpy.ones((500, 500)), torch.ones(500, 500) @ torch.ones(500, 500)\n"
        "for thread in os.listdir('/proc/self/task'):\n"
        "    with open(f'/proc/self/task/{thread}/status') as file:\n"
        "        said = dict(line.split(':\\t', 1) for line in file if ':\\t' in line)\n"
        "    print(*(said[name].strip() for name in ('Seccomp', 'NoNewPrivs', 'CapEff', 'CapPrm')), flush=True)\n"
    )
    files = (SourceFile(path="kernel.py", text=source + GOOD),)
    candidate = Candidate(language="python", files=files, origin=Origin(proposer="tests"))
    job = Job(task=row_scale, candidate=candidate, level="check", secret="s", n_threads=n_threads)
    found = judge.verdict(job)
    assert found.correct, found.message
    if not {"seccomp", "no-capabilities"} <= set(found.isolation):
        pytest.skip("this machine lacks a wall")
    assert set(found.output.splitlines()) == {f"2 1 {0:016x} {0:016x}"}


def test_what_it_prints_while_it_is_timed_is_told_to_nobody(judge: Judge, row_scale: Task) -> None:
    """Timed content serves all candidates of a search: one that tells it could serve the next one's cache."""
    source = GOOD.replace("    y += 1\n", "    y += 1\n    print('shape', R, C, flush=True)\n")
    files = (SourceFile(path="kernel.py", text=source),)
    candidate = Candidate(language="python", files=files, origin=Origin(proposer="tests"))
    job = Job(task=row_scale, candidate=candidate, level="screen", secret="s", baselines=("eager",))
    checked = judge.verdict(job.model_copy(update={"level": "check"})).output
    timed = judge.verdict(job)
    assert timed.timing is not None
    assert timed.output.count("shape 300 257") == 4, "the listed shape in the check: nominal and three others"
    assert "shape 5 7" in checked


def test_several_files_import_each_other(judge: Judge, row_scale: Task) -> None:
    first = "import file1\n\ndef row_scale(x, w, y, R, C):\n    file1.work(x, w, y)\n"
    assert verdict(judge, row_scale, first, "def work(x, w, y):\n    y.copy_(x * w + 1)\n").correct


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        ("def row_scale(x, w, y, R, C):\n    return x * w + 1\n", "refused", "returned a value"),
        ("def row_scale(x, w, y, R, C):\n    raise RuntimeError('no')\n", "refused", "raised"),
        ("def row_scale(x, w, y, R, C):\n    pass\n", "unwritten", "wrong"),
        ("def row_scale(x, w, y, R, C:\n", "build_failed", "file0.py:1"),
        ("import nothing_of_that_name\ndef row_scale(): pass\n", "load_failed", "ModuleNotFoundError"),
        ("row_scale = 3\n", "load_failed", "no function"),
        ("def other(): pass\n", "rejected", "row_scale"),
        ("import os\nos._exit(0)\nrow_scale = 1\n", "exited_early", "exit code 0"),
        ("import socket\nsocket.socket()\ndef row_scale(): pass\n", "load_failed", "PermissionError"),
        ("open('/tmp/ke-attack', 'w')\ndef row_scale(): pass\n", "load_failed", "Error"),
        ("import subprocess\nsubprocess.run(['true'])\ndef row_scale(): pass\n", "load_failed", "Error"),
        *(
            (f"{text}\ndef row_scale(): pass\n", "load_failed", "PermissionError")
            for text in (
                # What would let it go on while the judge has it stopped.
                "import ctypes\nlibc, timer = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p()\n"
                "if libc.timer_create(1, (ctypes.c_int * 16)(0, 0, 18, 0), ctypes.byref(timer)):\n"
                "    raise OSError(ctypes.get_errno(), '')",
                "import fcntl, os\nfcntl.fcntl(os.pipe()[0], fcntl.F_SETSIG, 18)",
                "import signal, threading\nsignal.pthread_kill(threading.get_ident(), signal.SIGCONT)",
                "import os, signal\nos.kill(os.getpid(), signal.SIGCONT)",
            )
        ),
    ],
)
def test_what_a_module_may_not_do(judge: Judge, row_scale: Task, source: str, outcome: str, words: str) -> None:
    found = verdict(judge, row_scale, source)
    assert found.outcome.value == outcome, found.message
    assert words in found.message


def test_other_signals_to_itself_and_interval_timers_are_left(judge: Judge, row_scale: Task) -> None:
    source = (
        "import fcntl, os, signal, threading\nseen = []\n"
        "signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))\n"
        "signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "fcntl.fcntl(os.pipe()[0], fcntl.F_GETFL)\n"
        "assert seen\n\n"
    )
    assert verdict(judge, row_scale, source + GOOD).correct


def test_it_sees_no_file_of_ours_and_no_other_process(judge: Judge, row_scale: Task) -> None:
    source = (
        "import os, pathlib\n"
        "def readable(p):\n"
        "    try:\n        return bool(pathlib.Path(p).read_bytes())\n    except OSError:\n        return False\n"
        f"found = [p for p in {[str(Path(__file__)), '/etc/shadow', '/root/.bashrc']} if readable(p)]\n"
        "pids = [p for p in os.listdir('/proc') if p.isdigit()]\n"
        "raise RuntimeError(f'found={found} pids={len(pids)}')\n"
        "def row_scale(): pass\n"
    )
    found = verdict(judge, row_scale, source)
    assert f"found={['/etc/shadow'] if '/etc/shadow' in found.message else []}" in found.message
    assert "pids=2" in found.message, "its own process and the namespace's init"
