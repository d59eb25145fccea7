"""Events: what the store keeps. Everything else (the tree, reports, exports) is a fold over them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from kernelevolve.model.brief import Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import Verdict


class Settings(Value):
    """A campaign's settings. With the task they decide everything but the timings."""

    seed: int = 0
    policy: str = "greedy"
    proposer: str = "builtin"
    platform: str = "cpu"
    max_candidates: int = Field(default=100, ge=1)
    max_seconds: float = Field(default=60.0, gt=0)
    n_drafts: int = Field(default=8, ge=1, description="first moves, without a parent")
    n_threads: int = Field(default=1, ge=1)
    baselines: tuple[str, ...] = ("eager", "compile")
    n_finalists: int = Field(default=3, ge=1, description="re-measured before one of them is claimed")


class Opened(Value):
    kind: Literal["opened"] = "opened"
    task: Task
    settings: Settings
    facts: PlatformFacts
    user_baselines: tuple[Candidate, ...] = ()
    time: str = Field(description="UTC, ISO 8601")


class Proposed(Value):
    """A node is born. Resume evaluates a proposed but unjudged node; it never proposes it again."""

    kind: Literal["proposed"] = "proposed"
    step: int = Field(ge=1)
    move: Move
    candidate: Candidate
    elapsed_s: float = Field(description="search time used so far, over all runs of the campaign")


class Judged(Value):
    kind: Literal["judged"] = "judged"
    step: int
    verdict: Verdict
    elapsed_s: float
    same_as: int | None = Field(default=None, description="an earlier step with the same candidate; not run again")


class Diagnosed(Value):
    kind: Literal["diagnosed"] = "diagnosed"
    step: int
    diagnosis: Diagnosis


class Confirmed(Value):
    """A finalist re-measured in a fresh process with many pairs."""

    kind: Literal["confirmed"] = "confirmed"
    step: int
    verdict: Verdict
    elapsed_s: float


class Sealed(Value):
    """The one use of the sealed shapes."""

    kind: Literal["sealed"] = "sealed"
    step: int
    verdict: Verdict
    elapsed_s: float


class Closed(Value):
    """The end. `winner` is the step of the kernel to use, None when the reference stays the best."""

    kind: Literal["closed"] = "closed"
    winner: int | None
    reason: str
    elapsed_s: float


Event = Annotated[Opened | Proposed | Judged | Diagnosed | Confirmed | Sealed | Closed, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)


def event_from_json(text: str | bytes) -> Event:
    return _ADAPTER.validate_json(text)
