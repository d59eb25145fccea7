"""A farm that builds and runs nothing: verdicts made up from the candidate's content, always the same."""

from __future__ import annotations

import math
import time

from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job
from kernelevolve.model.task import Shape
from kernelevolve.model.value import sha256_text
from kernelevolve.model.verdict import (
    Comparison,
    CompileMessage,
    Mismatch,
    Outcome,
    ShapeTiming,
    Stage,
    StageReport,
    Timing,
    Verdict,
)

BASELINE_US = 100.0
SPREAD = {"screen": 0.05, "confirm": 0.01, "sealed": 0.01}  # relative half-width of the interval


class FakeFarm(InlineFarm):
    """About a quarter of all candidates fail. The others are up to 4 times as fast as the baseline, the faster the
    nearer each number among their parameters is to a hidden best one. A job takes `delay_s`."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        def evaluate(job: Job) -> Verdict:
            time.sleep(delay_s)
            return fake_verdict(job)

        super().__init__(evaluate)


def fake_verdict(job: Job) -> Verdict:
    """A pure function of the job; its secret plays no part."""
    draw = int(job.candidate.id[:8], 16) % 100
    outcome, stage = _fate(draw)
    correct = outcome is Outcome.CORRECT
    if correct and job.level == "check":
        stage = Stage.CHECK
    broken = CompileMessage(file=job.candidate.files[0].path, line=1, message="made-up error")
    return Verdict(
        task_id=job.task.content_id,
        candidate_id=job.candidate.id,
        outcome=outcome,
        stage=stage,
        message="" if correct else f"made-up failure: {outcome.value}",
        compile_messages=(broken,) if outcome is Outcome.BUILD_FAILED else (),
        mismatch=_mismatch(job) if outcome is Outcome.WRONG else None,
        stages=(StageReport(stage=stage, seconds=0.0),),
        n_checks=3 if correct else 0,
        isolation=("fake: nothing is run",),
        timing=_timing(job) if correct and job.level != "check" else None,
    )


def _fate(draw: int) -> tuple[Outcome, Stage]:
    if draw < 10:
        return Outcome.BUILD_FAILED, Stage.BUILD
    if draw < 15:
        return Outcome.CRASHED, Stage.CHECK
    if draw < 25:
        return Outcome.WRONG, Stage.CHECK
    return Outcome.CORRECT, Stage.MEASURE


def _mismatch(job: Job) -> Mismatch:
    return Mismatch(
        tensor=job.task.written[0].name,
        shape=job.task.shapes.shown[0],
        n_wrong=1,
        n_total=10,
        first_index=(0,),
        got="1",
        expected="2",
    )


def _timing(job: Job) -> Timing:
    assert job.level != "check"
    wanted = job.task.shapes.sealed if job.level == "sealed" else job.task.shapes.search
    shapes = tuple(_shape_timing(job, shape) for shape in wanted or job.task.shapes.shown)
    comparisons = [shape.against_best for shape in shapes]
    return Timing(
        level=job.level,
        shapes=shapes,
        speedup=_mean([comparison.speedup for comparison in comparisons]),
        low=_mean([comparison.low for comparison in comparisons]),
        high=_mean([comparison.high for comparison in comparisons]),
    )


def _shape_timing(job: Job, shape: Shape) -> ShapeTiming:
    assert job.level != "check"
    jitter = 1.0 + (_uniform(job.candidate.id, job.level, str(sorted(shape.items()))) - 0.5) * SPREAD[job.level]
    speedup, spread = true_speedup(job.candidate) * jitter, SPREAD[job.level]
    comparisons = tuple(
        Comparison(
            baseline=name,
            baseline_us=BASELINE_US,
            candidate_us=BASELINE_US / speedup,
            speedup=speedup,
            low=speedup * (1 - spread),
            high=speedup * (1 + spread),
            log_ratios=(math.log(speedup),),
        )
        for name in job.baselines or ("eager",)
    )
    return ShapeTiming(shape=shape, latency_us=BASELINE_US / speedup, bytes_moved=4096, comparisons=comparisons)


def true_speedup(candidate: Candidate) -> float:
    """In 0.5..4. One at the hidden best numbers is 4 times as fast; without numbers the content decides."""
    parameters = candidate.origin.parameters
    numbers = {name: int(text) for name, text in parameters.items() if text.lstrip("-").isdigit()}
    if not numbers:
        return 0.5 + 3.5 * _uniform(candidate.id) ** 4
    misses = [
        abs(math.log1p(abs(value)) - math.log1p(hidden)) / math.log(1000)
        for name, value in numbers.items()
        for hidden in [1000 ** _uniform("hidden best", name)]
    ]
    return 0.5 + 3.5 * math.exp(-5.0 * sum(misses) / len(misses))


def _mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _uniform(*texts: str) -> float:
    """In 0..1, decided by `texts`."""
    return int(sha256_text("\n".join(texts))[:12], 16) / 16**12
