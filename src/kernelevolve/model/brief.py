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


class Memory(StrEnum):
    """Which earlier attempts a move's brief shows. Recorded with the move, so that what helped can be counted."""

    CLEAN = "clean"  # none: a start that no earlier idea anchors
    LINEAGE = "lineage"  # the parent's own path from its root, with what each change did
    SIBLINGS = "siblings"  # what else was tried from the same parent, and how it went
    BOTH = "both"  # lineage and siblings
    FUSE = "fuse"  # the lineages of two parents, to be combined


class Move(Value):
    """A policy's choice: an operator, the nodes (step numbers) it starts from, and what the brief may remember."""

    operator: Operator
    parents: tuple[int, ...] = ()
    memory: Memory = Memory.LINEAGE
    language: str = Field(default="", description="wish for another language, after stagnation; empty: no wish")
    avoid: tuple[str, ...] = Field(default=(), description="recipes or families of algorithms that led nowhere")
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
    ask: int = Field(default=0, description="number of the question this brief is for, within its campaign; 0: none")
    n_wanted: int = Field(default=1, ge=1)
    remaining: int | None = Field(default=None, description="candidates left in the budget, this one included")
    seed: int = Field(description="the only source of randomness a proposer may use")
