"""Every hostile candidate gets its verdict through the real farm; afterwards nothing is left and a good one wins."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Verdict
from tests.conftest import read_candidate

FOLDER = Path(__file__).parent / "candidates"
NAMES = sorted(path.stem for path in FOLDER.glob("*.cpp"))
LIMITS = Limits(call_s=1.5, build_s=8.0)


def job(task: Task, candidate: Candidate, *, level: str = "screen") -> Job:
    return Job.model_validate(
        {
            "task": task, "candidate": candidate, "level": level, "baselines": ("eager",), "n_threads": 2,
            "secret": f"secret/{candidate.id}", "limits": LIMITS,
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def farm(cache: Path) -> Iterator[ProcessFarm]:
    farm = ProcessFarm(n_threads=2, cache_dir=cache)
    yield farm
    farm.close()


def expected(name: str) -> set[str]:
    match = re.match(r"// expect: (\S+)", (FOLDER / f"{name}.cpp").read_text())
    assert match, f"{name}.cpp does not say what it expects"
    return set(match[1].split(","))


def processes(word: str) -> list[str]:
    """Command lines on this machine with a word in them."""
    listing = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    return [
        line for line in listing.splitlines() if word in line and "<defunct>" not in line and "ps -ewwo" not in line
    ]


def test_there_are_at_least_50() -> None:
    assert len(NAMES) >= 51


@pytest.mark.parametrize("name", NAMES)
def test_verdict(name: str, farm: ProcessFarm, row_scale: Task) -> None:
    """PE59: whatever it does, it has a verdict with a name and a message."""
    verdict: Verdict = farm.submit(job(row_scale, read_candidate(FOLDER / f"{name}.cpp"))).result()
    assert verdict.outcome.value in expected(name), verdict.message
    assert verdict.correct == (verdict.timing is not None)
    assert verdict.correct or verdict.message
    assert "Traceback" not in verdict.message


def test_afterwards_nothing_is_left_and_a_good_one_wins(farm: ProcessFarm, row_scale: Task) -> None:
    good = farm.submit(job(row_scale, read_candidate(FOLDER / "good.cpp"))).result()
    assert good.correct
    time.sleep(0.2)
    assert processes("ke-runner") == []
    assert not Path("/tmp/owned").exists()
    assert farm._process is not None
    assert not list(Path(tempfile.gettempdir()).glob(f"ke-judge-{farm._process.pid}-*/ke-jail-*"))


def test_the_judge_survives_its_candidates(farm: ProcessFarm, row_scale: Task) -> None:
    """One judge process judged them all: a crash of a candidate never restarts it."""
    assert farm.n_started == 1


def test_killing_the_judge_leaves_no_process(cache: Path, row_scale: Task) -> None:
    farm = ProcessFarm(n_threads=2, cache_dir=cache)
    ticket = farm.submit(job(row_scale, read_candidate(FOLDER / "sleeps_forever.cpp")))
    deadline = time.monotonic() + 60
    while not processes("ke-runner") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert farm._process is not None
    farm._process.kill()
    with pytest.raises(Exception, match="judge"):
        ticket.result()
    time.sleep(0.5)
    assert processes("ke-runner") == []
    dead = farm._process.pid
    assert list(Path(tempfile.gettempdir()).glob(f"ke-judge-{dead}-*"))
    assert farm.submit(job(row_scale, read_candidate(FOLDER / "good.cpp"))).result().correct
    assert not list(Path(tempfile.gettempdir()).glob(f"ke-judge-{dead}-*")), "the next judge cleans up for a dead one"
    farm.close()
