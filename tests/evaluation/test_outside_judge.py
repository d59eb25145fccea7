"""Judged whole by the outside clock, and whose fault it is when the device works for somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError, TaskError
from kernelevolve.evaluation.bench import N_LOOKS
from kernelevolve.evaluation.defences import Defences
from kernelevolve.evaluation.judge import Judge
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from tests.evaluation.outside_fakes import GOOD, Gaps, Roomy


@pytest.fixture(scope="module")
def gaps() -> Gaps:
    return Gaps()


@pytest.fixture(scope="module")
def task(row_scale: Task) -> Task:
    return row_scale.model_copy(update={"platform": "cuda"})


@pytest.fixture(autouse=True)
def _quiet_again(gaps: Gaps) -> Iterator[None]:
    yield
    gaps.forget()


def python(text: str) -> Candidate:
    files = (SourceFile(path="kernel.py", text=text),)
    return Candidate(language="python", files=files, origin=Origin(proposer="tests"))


def job(task: Task, candidate: Candidate, **changes: object) -> Job:
    base = {"task": task, "candidate": candidate, "secret": "s", "n_threads": 1, "baselines": ("eager",)}
    return Job.model_validate({**base, "level": "screen", "limits": Limits(call_s=5.0), **changes})


@pytest.fixture(scope="module")
def judge(cache: Path, facts: PlatformFacts, gaps: Gaps) -> Iterator[Judge]:
    """Admission needs the device that the task names."""
    judge = Judge(cache=cache, facts=facts, device=Roomy(gaps), defences=Defences(without=("admission",)))
    yield judge
    judge.close()


def test_a_module_is_judged_from_end_to_end(judge: Judge, task: Task) -> None:
    found = judge.verdict(job(task, python(GOOD)))
    assert found.correct, found.message
    assert found.lane == "host"
    assert found.timing is not None
    (timing,) = found.timing.shapes
    assert timing.slope_us is None
    assert [one.baseline for one in timing.comparisons] == ["eager"]
    assert len(timing.comparisons[0].log_ratios) >= 3  # a screen ends there for one that is much slower


def test_a_module_that_is_right_at_first_and_idle_when_it_is_timed(judge: Judge, task: Task) -> None:
    idle = GOOD.replace(
        "    torch.mul", "    if R == 300 and S.append(1) is None and len(S) > 3: return\n    torch.mul"
    )
    found = judge.verdict(job(task, python(f"S = []\n{idle}")))
    assert found.outcome.value in ("unwritten", "wrong", "unstable"), found.message


def test_a_baseline_of_another_kind_is_refused(judge: Judge, task: Task) -> None:
    files = (
        SourceFile(path="kernel.cu", text='extern "C" __global__ void k(float* y) {}'),
        SourceFile(path="launch.toml", text=""),
    )
    device_code = Candidate(language="cuda", files=files, origin=Origin(proposer="tests", recipe="rival.cu"))
    with pytest.raises(TaskError, match="cannot be compared"):
        judge.verdict(job(task, python(GOOD), user_baselines=(device_code,)))


def test_a_gap_is_the_candidates_only_when_it_goes_with_it(judge: Judge, task: Task, gaps: Gaps) -> None:
    judge.prepare(job(task, python(GOOD))).prepare_outside("screen", ("eager",))
    gaps.worst_ns = 3_000_000
    with pytest.raises(MachineError, match="somebody else uses this GPU"):
        judge.verdict(job(task, python(f"{GOOD}# once more\n")))


def test_a_gap_that_goes_with_the_candidate_is_its_verdict(judge: Judge, task: Task, gaps: Gaps) -> None:
    judge.prepare(job(task, python(GOOD))).prepare_outside("screen", ("eager",))
    # The process that was killed is still being cleared away for two looks; then its second one starts.
    # Before each of them there is one look, whether the device is quiet.
    gaps.coming = [64, *[3_000_000] * 3, *[64] * (1 + N_LOOKS), 64, 3_000_000, *[64] * (1 + N_LOOKS)]
    found = judge.verdict(job(task, python(f"{GOOD}# twice more\n")))
    assert found.outcome.value == "clock_disputed"
    assert "while the candidate stood still (3000 us at a stretch)" in found.message
    assert not gaps.coming, "the device was watched for a while before that was said"
    assert [report.stage.value for report in found.stages] == ["inspect", "build", "check", "measure"]


def test_a_gap_that_was_anybodys_once_is_nobodys_verdict(judge: Judge, task: Task, gaps: Gaps) -> None:
    judge.prepare(job(task, python(GOOD))).prepare_outside("screen", ("eager",))
    gaps.coming = [64, 3_000_000]
    found = judge.verdict(job(task, python(f"{GOOD}# and again\n")))
    assert found.correct, found.message


def test_who_compiles_in_a_first_call_has_the_time_that_a_build_may_take(judge: Judge, task: Task) -> None:
    slow = GOOD.replace("    torch.mul", "    if S.append(1) is None and len(S) == 1: time.sleep(1.5)\n    torch.mul")
    limits = Limits(call_s=0.5, build_s=20.0)
    found = judge.verdict(job(task, python(f"import time\nS = []\n{slow}"), level="check", limits=limits))
    assert found.correct, found.message
