"""A Brief: everything a proposer may see. A Lesson: what the past taught, with its scope."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import CompileMessage, Outcome


class Operator(StrEnum):
    """What a move asks of the proposer."""

    DRAFT = "draft"  # a new start, no parent
    MUTATE = "mutate"  # change one thing of one parent
    CROSS = "cross"  # combine two parents


class Move(Value):
    """A policy's choice: an operator and the nodes (step numbers) it starts from."""

    operator: Operator
    parents: tuple[int, ...] = ()
    reason: str = ""


class Lesson(Value):
    """A situation paired with an action, where it was seen to hold and where not."""

    situation: str
    action: str
    evidence: tuple[str, ...] = ()
    applies_to: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()


class Attempt(Value):
    """A finished node as a proposer sees it: source, outcome and effect; search shapes stay hidden."""

    step: int
    candidate: Candidate
    outcome: Outcome
    message: str = ""
    compile_messages: tuple[CompileMessage, ...] = ()
    speedup: float | None = Field(default=None, description="against the better baseline, geometric mean")
    parent_speedup: float | None = None
    diagnosis: Diagnosis | None = None


class Brief(Value):
    task: Task
    facts: PlatformFacts
    move: Move
    parents: tuple[Attempt, ...] = ()
    history: tuple[Attempt, ...] = Field(default=(), description="earlier attempts, oldest first")
    lessons: tuple[Lesson, ...] = ()
    n_wanted: int = Field(default=1, ge=1)
    remaining: int | None = Field(default=None, description="candidates left in the budget, this one included")
    seed: int = Field(description="the only source of randomness a proposer may use")
