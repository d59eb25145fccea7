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
    policy: str = Field(default="", description="which policy chose it; of a portfolio the member")


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
    interval: tuple[float, float] | None = Field(default=None, description="95 %, of `speedup`")
    parent_interval: tuple[float, float] | None = None
    disturbed: float = Field(default=0.0, description="other runnable threads while it was timed; 0 on a quiet machine")
    diagnosis: Diagnosis | None = None


class Role(StrEnum):
    """Why a brief shows an earlier attempt."""

    PARENT = "parent"
    LINEAGE = "lineage"  # an ancestor of the first parent
    OTHER_LINEAGE = "other_lineage"  # an ancestor of the second parent
    SIBLING = "sibling"  # another child of a parent
    BEST = "best"  # one of the best of the campaign, elsewhere in the tree
    FAILURE = "failure"  # a failure close by


class Remembered(Value):
    """An earlier attempt that the move's memory shows, with what it changed. Its effect is in `attempt`."""

    attempt: Attempt
    role: Role
    parent: int | None = Field(default=None, description="step of its first parent")
    change: str = Field(default="", description="what it changed in its parent, in a sentence")
    why: str = Field(default="", description="of one of the best elsewhere: by what it is the best")
    diff: str = Field(default="", description="short diff from its parent; empty without one, or where it is long")


class Note(Value):
    """An insight of an agent or a person about some steps: advice, never evidence."""

    number: int
    text: str
    steps: tuple[int, ...] = ()
    author: str = ""


class Snippet(Value):
    """A piece of written knowledge."""

    id: str = Field(description="stable: file#number of the section")
    title: str
    text: str


class Spent(Value):
    """What calls under one name have taken so far: settled ones, and the reservations of open ones."""

    name: str
    n_calls: int = Field(ge=0)
    tokens: int = Field(ge=0)
    usd: float | None = Field(default=None, ge=0, description="None: the price of some call is not known")


class Brief(Value):
    task: Task
    facts: PlatformFacts
    move: Move
    parents: tuple[Attempt, ...] = ()
    history: tuple[Attempt, ...] = Field(default=(), description="earlier attempts, oldest first")
    remembered: tuple[Remembered, ...] = Field(default=(), description="what the move's memory selects")
    lessons: tuple[Lesson, ...] = ()
    notes: tuple[Note, ...] = Field(default=(), description="insights, newest last")
    knowledge: tuple[Snippet, ...] = Field(default=(), description="found for this task and bottleneck, best first")
    n_proposed: int = Field(default=0, ge=0, description="candidates proposed so far, those in work included")
    in_flight: tuple[Candidate, ...] = Field(default=(), description="proposed, not judged yet: not to be made again")
    spent: tuple[Spent, ...] = Field(default=(), description="what calls took so far, by the name they went under")
    ask: int = Field(default=0, description="number of the question this brief is for, within its campaign; 0: none")
    n_wanted: int = Field(default=1, ge=1)
    remaining: int | None = Field(default=None, description="candidates left in the budget, this one included")
    seed: int = Field(description="the only source of randomness a proposer may use")
