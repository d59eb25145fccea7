"""A Job: one candidate to be judged, and under which limits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value


class Limits(Value):
    build_s: float = Field(default=60.0, gt=0)
    call_s: float = Field(default=10.0, gt=0, description="one call of the candidate")
    memory_bytes: int = Field(default=4 * 2**30, gt=0, description="beyond the buffers the judge provides")


def claim_baselines(task: Task) -> tuple[str, ...]:
    """What a final claim is held against besides what every screen is: slow to make ready, hard to beat."""
    if task.platform != "cuda":
        return ()
    narrower = ("eager+tf32", "compile+tf32") if task.dtype == "float32" and task.rule.kind != "bitwise" else ()
    return ("compile-max-autotune", *narrower)


class Preparation(Value):
    """What is done once for many jobs: draws and their answers, compiled baselines. level "check" stops before
    measuring; the others are those of `Timing`."""

    task: Task
    level: Literal["check", "screen", "confirm", "sealed"] = "screen"
    baselines: tuple[str, ...] = ("eager", "compile")
    n_threads: int = Field(default=1, ge=1)
    secret: str = Field(description="seeds every draw of inputs; jobs with the same secret share draws and answers")


class Job(Preparation):
    candidate: Candidate
    user_baselines: tuple[Candidate, ...] = ()
    limits: Limits = Limits()
    alpha: float = Field(default=0.05, gt=0, lt=1, description="how often the interval may miss, both sides together")
