"""A Job: one candidate to be judged, and under which limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import Timing


class Limits(Value):
    build_s: float = Field(default=60.0, gt=0)
    call_s: float = Field(default=10.0, gt=0, description="one call of the candidate")
    memory_bytes: int = Field(default=4 * 2**30, gt=0, description="beyond the buffers the judge provides")


def claim_baselines(task: Task) -> tuple[str, ...]:
    """What a final claim is held against besides what every screen is: slow to make ready, hard to beat."""
    if task.platform != "cuda":
        return ()
    narrower = ("eager+tf32", "compile+tf32") if task.dtype == "float32" and task.rule.kind != "bitwise" else ()
    return (TUNED, *narrower)


TUNED = "compile-max-autotune"
FAR_BEHIND = 8.0


def not_worth_tuning(confirmed: Iterable[Timing]) -> dict[str, str]:
    """Baselines of a claim that are not made ready, and why. Compiling for every sealed shape with max-autotune takes
    minutes; where plain torch.compile did not run at all, or was `FAR_BEHIND` times slower than the fastest baseline on
    every shape that finalists were measured on again, tuning it does not make it the one to beat."""
    timings = list(confirmed)
    if any("compile" in timing.left_out for timing in timings):
        return {TUNED: "torch.compile does not run this operator"}
    ratios = []
    for shape in (shape for timing in timings for shape in timing.shapes):
        by_name = {one.baseline: one.baseline_us for one in shape.comparisons}
        if "compile" not in by_name:  # nobody asked for it, which says nothing
            return {}
        ratios.append(by_name["compile"] / min(by_name.values()))
    if not ratios or min(ratios) < FAR_BEHIND:
        return {}
    return {TUNED: f"torch.compile was at least {min(ratios):.0f} times slower than the fastest"}


class Preparation(Value):
    """What is done once for many jobs: draws and their answers, compiled baselines. level "check" stops before
    measuring; the others are those of `Timing`."""

    task: Task
    level: Literal["check", "screen", "confirm", "sealed"] = "screen"
    baselines: tuple[str, ...] = ("eager", "compile")
    n_threads: int = Field(default=1, ge=1)
    left_out: dict[str, str] = Field(default={}, description="baselines that are not asked for again, and why")
    secret: str = Field(description="seeds every draw of inputs; jobs with the same secret share draws and answers")


class Job(Preparation):
    candidate: Candidate
    user_baselines: tuple[Candidate, ...] = ()
    limits: Limits = Limits()
    alpha: float = Field(default=0.05, gt=0, lt=1, description="how often the interval may miss, both sides together")
