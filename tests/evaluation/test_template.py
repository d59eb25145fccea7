"""The process that Python candidates are forked from: a child is as if started anew, and nothing is left of it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.evaluation.arena import Arena
from kernelevolve.evaluation.judge import Judge
from kernelevolve.evaluation.template import Template, Templates
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Verdict
from kernelevolve.toolchains.confine import NO_EARLY_THREADS

GOOD = "import torch\n\ndef row_scale(x, w, y, R, C):\n    torch.mul(x, w, out=y)\n    y += 1\n"
TELLS = "import os\n{}\nprint(open('/proc/self/cmdline').read().replace(chr(0), ' '), flush=True)\n"
FILES = (
    "print('files', *sorted(os.readlink(f'/proc/self/fd/{fd}').split(':')[0] for fd in os.listdir('/proc/self/fd')\n"
)
FILES += "    if os.path.lexists(f'/proc/self/fd/{fd}')))"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "2", **NO_EARLY_THREADS}


@pytest.fixture
def judge(cache: Path) -> Iterator[Judge]:
    judge = Judge(cache=cache)
    yield judge
    judge.close()


def verdict(judge: Judge, task: Task, level: str, source: str) -> Verdict:
    files = (SourceFile(path="kernel.py", text=source),)
    candidate = Candidate(language="python", files=files, origin=Origin(proposer="tests"))
    job = Job.model_validate(
        {"task": task, "candidate": candidate, "level": level, "secret": "s", "baselines": ("eager",)}
    )
    found = judge.verdict(job)
    assert found.correct, found.message
    return found


def test_who_is_screened_is_forked_and_who_is_measured_for_a_claim_is_not(judge: Judge, row_scale: Task) -> None:
    """But for where libraries lie, nothing else differs: walls, descriptors, settings."""
    source = TELLS.format(FILES + "\nprint('settings', *sorted(os.environ.items()))\n") + GOOD
    forked, anew = (verdict(judge, row_scale, level, source) for level in ("check", "confirm"))
    assert "python_template" in forked.output
    assert "python_runner" in anew.output
    assert forked.isolation == anew.isolation
    said = [
        [line for line in one.output.splitlines() if line.startswith(("files", "settings"))] for one in (forked, anew)
    ]
    assert said[0] == said[1]


def test_a_template_that_has_died_is_replaced(judge: Judge, row_scale: Task) -> None:
    verdict(judge, row_scale, "check", GOOD)
    (pid,) = templates_of(os.getpid())
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))
    verdict(judge, row_scale, "check", GOOD)
    assert templates_of(os.getpid()) not in ([], [pid])


def test_it_is_one_process_for_many_candidates_and_none_is_left_of_them(judge: Judge, row_scale: Task) -> None:
    for number in range(3):
        verdict(judge, row_scale, "check", f"{GOOD}# {number}\n")
    (pid,) = templates_of(os.getpid())
    wait_for(lambda: not children(pid))
    judge.close()
    assert not alive(pid)


def test_with_another_thread_in_it_it_is_not_used(cache: Path) -> None:
    templates = Templates(cache=cache, compiler="g++")
    template = templates.of({**ENVIRONMENT, "OPENBLAS_NUM_THREADS": "2"}, os.sched_getaffinity(0))
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one processor: no library starts threads")
    with pytest.raises(MachineError, match=r"broken .* threads run"):
        template.wait_until_ready()
    templates.close()


def test_it_ends_with_whoever_started_it(cache: Path) -> None:
    Templates(cache=cache, compiler="g++").of(ENVIRONMENT, set()).close()  # the library is there now
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom kernelevolve.evaluation.template import Templates\n"
        f"template = Templates(cache=Path({str(cache)!r}), compiler='g++').of({ENVIRONMENT!r}, set())\n"
        "template.wait_until_ready()\nprint(template._process.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    pid = int(finished.stdout)
    wait_for(lambda: not alive(pid))


def test_a_request_that_cannot_be_carried_out_is_the_machines_fault(cache: Path) -> None:
    templates = Templates(cache=cache, compiler="g++")
    template: Template = templates.of(ENVIRONMENT, set())
    arena = Arena(4096)
    assert arena.fd is not None
    forked = template.start(["too", "few"], [], [arena.fd])
    forked.wait(timeout=10.0)
    assert template.alive, "what one child could not do is nothing to the next"
    templates.close()
    with pytest.raises(MachineError, match="broken"):
        template.start([], [], [arena.fd])
    arena.close()


def test_descriptors_get_their_numbers_back_in_whatever_order_they_come() -> None:
    """The numbers of one are the free ones of another: each must arrive as itself."""
    program = (
        "import json, os, sys\nfrom kernelevolve.evaluation.python_template import place\n"
        "for wanted in json.loads(sys.argv[1]):\n"
        "    if os.fork():\n"
        "        assert os.wait()[1] == 0\n"
        "        continue\n"
        "    os.dup2(1, 950)\n"  # somebody's beyond all of them
        "    place([os.memfd_create(f'n{number}') for number in wanted], wanted)\n"
        "    found = {int(fd): os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')\n"
        "        if int(fd) > 2 and os.path.lexists(f'/proc/self/fd/{fd}')}\n"
        "    found = {fd: name.split(':')[1].split()[0] for fd, name in found.items()}\n"
        "    assert found == {number: f'n{number}' for number in wanted}, (wanted, found)\n"
        "    os._exit(0)\n"
    )
    wanted = [*itertools.permutations([3, 4, 5, 6]), (40, 3, 7, 12), (899, 5, 6, 4), ()]
    finished = subprocess.run(
        [sys.executable, "-c", program, json.dumps(wanted)], capture_output=True, text=True, check=False
    )
    assert (finished.returncode, finished.stderr) == (0, "")


def templates_of(pid: int) -> list[int]:
    return [child for child in children(pid) if "python_template" in Path(f"/proc/{child}/cmdline").read_text()]


def children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, seconds: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
