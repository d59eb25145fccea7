"""Small valid values for tests: a task, candidates, verdicts, events. Nothing here needs a compiler or torch."""

from __future__ import annotations

from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Judged, Opened, Proposed, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.model.verdict import Comparison, Outcome, ShapeTiming, Stage, Timing, Verdict

TIME = "2026-01-02T03:04:05+00:00"


def sample_task(name: str = "double") -> Task:
    return Task(
        name=name,
        summary="twice the input",
        entry=name,
        axes=(Axis(name="N"),),
        inputs=(TensorSpec(name="x", dtype="float32", dims=("N",)),),
        outputs=(TensorSpec(name="out", dtype="float32", dims=("N",)),),
        rule=Rule(kind="bitwise"),
        shapes=ShapeSets(shown=({"N": 100},), search=({"N": 4099},), sealed=({"N": 7013},)),
        files=(SourceFile(path="reference.py", text="# é: not only ASCII\ndef reference(x):\n    return x * 2\n"),),
    )


def sample_candidate(number: int = 0, text: str = "") -> Candidate:
    source = text or f"// candidate {number}\n"
    origin = Origin(proposer="sample", recipe="sample", parameters={"n": str(number)})
    return Candidate(language="fake", files=(SourceFile(path="kernel.cpp", text=source),), origin=origin)


def sample_verdict(
    candidate: Candidate, *, outcome: Outcome = Outcome.CORRECT, speedup: float = 1.5, spread: float = 0.1
) -> Verdict:
    """`low`..`high` is `speedup` -+ `spread`, relative."""
    stages = {Outcome.CORRECT: Stage.MEASURE, Outcome.BUILD_FAILED: Stage.BUILD, Outcome.REJECTED: Stage.INSPECT}
    correct = outcome is Outcome.CORRECT
    return Verdict(
        task_id=sample_task().content_id,
        candidate_id=candidate.id,
        outcome=outcome,
        stage=stages.get(outcome, Stage.CHECK),
        message="" if correct else f"sample {outcome.value}",
        n_checks=3 if correct else 0,
        timing=_timing(speedup, spread) if correct else None,
    )


def sample_opened(settings: Settings | None = None, *, name: str = "double", time: str = TIME) -> Opened:
    facts = PlatformFacts(name="fake", kind="cpu")
    return Opened(task=sample_task(name), settings=settings or Settings(), facts=facts, time=time)


def sample_proposed(step: int, *, move: Move | None = None, candidate: Candidate | None = None) -> Proposed:
    return Proposed(
        step=step,
        move=move or Move(operator=Operator.DRAFT),
        candidate=candidate or sample_candidate(step),
        elapsed_s=float(step),
    )


def sample_judged(
    step: int, *, outcome: Outcome = Outcome.CORRECT, speedup: float = 1.5, same_as: int | None = None
) -> Judged:
    verdict = sample_verdict(sample_candidate(step), outcome=outcome, speedup=speedup)
    return Judged(step=step, verdict=verdict, elapsed_s=step + 0.5, same_as=same_as)


def _timing(speedup: float, spread: float) -> Timing:
    low, high = speedup * (1 - spread), speedup * (1 + spread)
    comparison = Comparison(
        baseline="eager", baseline_us=100.0, candidate_us=100.0 / speedup,
        speedup=speedup, low=low, high=high, log_ratios=(0.1, 1 / 3, 0.30000000000000004),
    )  # fmt: skip
    shape = ShapeTiming(shape={"N": 4099}, latency_us=100.0 / speedup, bytes_moved=32792, comparisons=(comparison,))
    return Timing(level="screen", shapes=(shape,), speedup=speedup, low=low, high=high)
