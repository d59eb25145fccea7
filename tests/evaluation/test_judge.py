"""The judge as a whole, on real candidates in real processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.judge import Judge
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Outcome, Stage

Hostile = Callable[[str], Candidate]


@pytest.fixture(scope="module")
def judge(cache: Path, facts: PlatformFacts) -> Iterator[Judge]:
    judge = Judge(cache=cache, facts=facts)
    yield judge
    judge.close()


def job(task: Task, candidate: Candidate, **changes: object) -> Job:
    base = {"task": task, "candidate": candidate, "secret": "s/1", "n_threads": 2, "baselines": ("eager",)}
    return Job.model_validate({**base, "limits": Limits(call_s=1.5), **changes})


def test_a_screen_times_the_hidden_search_shape(judge: Judge, row_scale: Task, hostile: Hostile) -> None:
    verdict = judge.verdict(job(row_scale, hostile("good")))
    assert verdict.correct
    assert verdict.timing is not None
    assert [timing.shape for timing in verdict.timing.shapes] == [{"R": 300, "C": 257}]
    assert verdict.timing.low <= verdict.timing.speedup <= verdict.timing.high
    assert [report.stage for report in verdict.stages] == [Stage.INSPECT, Stage.BUILD, Stage.CHECK, Stage.MEASURE]


def test_sealed_shapes_are_timed_in_five_processes(judge: Judge, row_scale: Task, hostile: Hostile) -> None:
    verdict = judge.verdict(job(row_scale, hostile("good"), level="sealed"))
    assert verdict.timing is not None
    (timing,) = verdict.timing.shapes
    assert timing.shape == {"R": 311, "C": 250}
    assert len(timing.comparisons[0].log_ratios) >= 45
    assert sum(report.stage is Stage.MEASURE for report in verdict.stages) == 5


def test_a_users_kernel_is_a_baseline_like_the_others(judge: Judge, row_scale: Task, hostile: Hostile) -> None:
    verdict = judge.verdict(job(row_scale, hostile("good"), level="confirm", user_baselines=(hostile("reads_passwd"),)))
    assert verdict.timing is not None
    names = [comparison.baseline for comparison in verdict.timing.shapes[0].comparisons]
    assert names == ["eager", "reads_passwd"]


@pytest.mark.parametrize("bad", ["transposed", "null_write"])
def test_what_is_wrong_with_a_users_kernel_is_no_fault_of_the_candidate(
    judge: Judge, row_scale: Task, hostile: Hostile, bad: str
) -> None:
    with pytest.raises(TaskError, match="no baseline to compare with"):
        judge.verdict(job(row_scale, hostile("good"), level="screen", user_baselines=(hostile(bad),)))


def test_what_a_task_brings_along_is_compared_and_what_cannot_run_is_named(
    cache: Path, facts: PlatformFacts, row_scale: Task, hostile: Hostile
) -> None:
    text = (
        "def twice(x, w):\n    return x * w + 1\n\n\n"
        "def absent(x, w):\n    import nobody_has_this\n\n\nARMS = {'twice': twice, 'absent': absent}\n"
    )
    task = row_scale.model_copy(update={"files": (*row_scale.files, SourceFile(path="baselines.py", text=text))})
    judge = Judge(cache=cache, facts=facts)
    verdict = judge.verdict(job(task, hostile("good"), level="confirm"))
    judge.close()
    assert verdict.timing is not None
    assert [one.baseline for one in verdict.timing.shapes[0].comparisons] == ["eager", "twice"]
    assert "nobody_has_this" in verdict.timing.left_out["absent"]


def test_check_level_does_not_time(judge: Judge, row_scale: Task, hostile: Hostile) -> None:
    verdict = judge.verdict(job(row_scale, hostile("good"), level="check"))
    assert verdict.correct
    assert verdict.timing is None


def test_compile_errors_are_structured(judge: Judge, row_scale: Task, hostile: Hostile) -> None:
    verdict = judge.verdict(job(row_scale, hostile("syntax_error")))
    assert verdict.outcome is Outcome.BUILD_FAILED
    first = verdict.compile_messages[0]
    assert (first.file, first.line) == ("row_scale.cpp", 3)
    assert "expected" in first.message


def test_what_a_candidate_prints_is_kept_and_cut(judge: Judge, row_scale: Task, hostile: Hostile) -> None:
    verdict = judge.verdict(job(row_scale, hostile("prints_nonsense")))
    assert verdict.correct
    assert verdict.output.startswith("PASS speedup 1000x")
    assert len(verdict.output) <= 4096


def test_the_sandbox_says_what_was_active(judge: Judge, row_scale: Task, hostile: Hostile) -> None:
    verdict = judge.verdict(job(row_scale, hostile("good"), level="check"))
    assert {"seccomp", "no-new-privs", "rlimit-memory"} <= set(verdict.isolation)
