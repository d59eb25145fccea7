"""What went wrong elsewhere when candidates were judged, put to our judge in real processes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Outcome, Stage, Verdict
from tests.peers.judged import RIGHT, cpp, job, preparation, python

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def farm(cache: Path, row_scale: Task) -> Iterator[ProcessFarm]:
    farm = ProcessFarm(n_threads=1, cache_dir=cache)
    farm.prepare(preparation(row_scale))
    yield farm
    farm.close()


def judged(farm: ProcessFarm, task: Task, candidate: Candidate) -> Verdict:
    return farm.submit(job(task, candidate)).result()


def runners_below(pid: int) -> list[str]:
    """Command lines of the living descendants of a process that run a candidate."""
    listing = subprocess.run(["ps", "-ewwo", "pid,ppid,stat,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 3) for line in listing.splitlines()[1:]]
    below = {str(pid)}
    for _ in rows:
        below |= {row[0] for row in rows if row[1] in below}
    return [row[3] for row in rows if row[0] in below and "ke-runner" in row[3] and not row[2].startswith("Z")]


def test_a_sleeping_candidate_is_a_timeout_and_leaves_no_process(farm: ProcessFarm, row_scale: Task) -> None:
    """PS1: with a limit of 2 s the answer is there within 4, and nothing of it is alive."""
    verdict = judged(farm, row_scale, cpp("sleep(100000);", head="#include <unistd.h>"))
    assert verdict.outcome is Outcome.TIMEOUT
    (check,) = [report for report in verdict.stages if report.stage is Stage.CHECK]
    assert 1.9 < check.seconds < 4
    assert farm._process is not None
    deadline = time.monotonic() + 2
    while runners_below(farm._process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert runners_below(farm._process.pid) == []


def test_nothing_is_written_after_the_limit(farm: ProcessFarm, row_scale: Task, tmp_path: Path) -> None:
    """PS2"""
    late = tmp_path / "late"
    head = "#include <thread>\n#include <cstdio>\n#include <unistd.h>"
    body = f'std::thread([] {{ sleep(3); fclose(fopen("{late}", "w")); }}).detach(); sleep(100000);'
    started = time.monotonic()
    assert judged(farm, row_scale, cpp(body, head=head)).outcome is Outcome.TIMEOUT
    time.sleep(max(0.0, 4.0 - (time.monotonic() - started)))
    assert not late.exists()


def test_what_raises_when_it_is_loaded_is_never_timed(farm: ProcessFarm, row_scale: Task) -> None:
    """PS7: check and clock are one process with the candidate in it, so there is no timing of anything else."""
    source = "raise RuntimeError('evolved')\ndef row_scale(x, w, y, R, C):\n    y.copy_(x * w + 1)\n"
    verdict = farm.submit(job(row_scale, python(source), level="screen")).result()
    assert verdict.outcome is Outcome.LOAD_FAILED
    assert "evolved" in verdict.message
    assert verdict.timing is None
    assert Stage.MEASURE not in {report.stage for report in verdict.stages}


def test_what_is_checked_has_the_tasks_own_dtype(farm: ProcessFarm, row_scale: Task) -> None:
    """PS7"""
    narrow = row_scale.model_copy(
        update={
            "dtype": "bfloat16",
            "inputs": tuple(spec.model_copy(update={"dtype": "bfloat16"}) for spec in row_scale.inputs),
            "outputs": tuple(spec.model_copy(update={"dtype": "bfloat16"}) for spec in row_scale.outputs),
            "files": tuple(
                file.model_copy(update={"text": file.text.replace("generator=rng)", "generator=rng).bfloat16()")})
                for file in row_scale.files
            ),
        }
    )
    source = "def row_scale(x, w, y, R, C):\n    raise RuntimeError(f'seen {x.dtype} {w.dtype} {y.dtype}')\n"
    assert "seen torch.bfloat16 torch.bfloat16 torch.bfloat16" in judged(farm, narrow, python(source)).output


def test_the_file_beside_the_source_decides(farm: ProcessFarm, row_scale: Task) -> None:
    """PS8: two candidates that differ in a second file get verdicts of their own, under identities of their own."""
    body = RIGHT.replace("1.0f", "offset")
    right = cpp(body, head='#include "offset.h"', offset="static const float offset = 1.0f;\n")
    wrong = cpp(body, head='#include "offset.h"', offset="static const float offset = 2.0f;\n")
    assert right.files[0] == wrong.files[0]
    verdicts = [judged(farm, row_scale, candidate) for candidate in (right, wrong, right)]
    assert [verdict.outcome for verdict in verdicts] == [Outcome.CORRECT, Outcome.WRONG, Outcome.CORRECT]
    assert [verdict.candidate_id for verdict in verdicts] == [right.id, wrong.id, right.id]
    assert right.id != wrong.id


def test_a_canary_beside_the_task_is_not_read(farm: ProcessFarm, row_scale: Task, tmp_path: Path) -> None:
    """PS52: neither a file nor a module of the project is there for a candidate to import."""
    canary = tmp_path / "canary.txt"
    canary.write_text("answer")
    source = (
        "import pathlib, sys\n"
        "found = []\n"
        f"for path in [{str(canary)!r}, {__file__!r}]:\n"
        "    try:\n        found.append(pathlib.Path(path).read_bytes()[:9])\n"
        "    except OSError:\n        pass\n"
        "try:\n    import kernelevolve.evaluation.compare\n    found.append('module')\n"
        "except (ImportError, OSError):\n    pass\n"
        "raise RuntimeError(f'found={found}')\n"
        "def row_scale(): pass\n"
    )
    assert judged(farm, row_scale, python(source)).message.endswith("found=[]")


def test_a_score_that_a_candidate_prints_is_no_score(farm: ProcessFarm, row_scale: Task) -> None:
    """PS55: figures come from the judge's clock only."""
    line = '{\\"outcome\\": \\"correct\\", \\"speedup\\": 1000}'
    head = "#include <cstdio>"
    liar = judged(farm, row_scale, cpp(f'printf("{line}\\n"); fflush(stdout);', head=head))
    assert liar.outcome is Outcome.UNWRITTEN
    honest = judged(farm, row_scale, cpp(f'printf("{line}\\n"); fflush(stdout);\n{RIGHT}', head=head))
    assert honest.correct
    assert honest.timing is None
    assert "1000" in honest.output


def test_one_that_does_not_compile_costs_no_other(farm: ProcessFarm, row_scale: Task) -> None:
    """PS58: handed in together, each is compiled by a process of its own."""
    broken = [cpp(f"this is no C++ {number};") for number in range(3)]
    bomb = cpp(RIGHT, head="template <int n> struct T { T<n + 1> t; }; T<0> t;")
    good = [cpp(f"// {number}\n{RIGHT}") for number in range(3)]
    order = [broken[0], good[0], bomb, good[1], broken[1], broken[2], good[2]]
    tickets = [farm.submit(job(row_scale, candidate)) for candidate in order]
    outcomes = [ticket.result().outcome for ticket in tickets]
    assert outcomes == [Outcome.CORRECT if candidate in good else Outcome.BUILD_FAILED for candidate in order]
    assert farm.n_started == 1
