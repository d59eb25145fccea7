"""Events: what the store keeps. Everything else (the tree, reports, exports) is a fold over them."""

from __future__ import annotations

from pathlib import PurePath
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
    n_asks: int = Field(default=1, ge=1, description="questions to the proposer that may be open at once")
    fitness: str = Field(default="speedup", description="what the search ranks by: a name of search/fitness.py")
    memory: str = Field(default="auto", description="a Memory for every move, or auto: the policy chooses")
    brief_tokens: int = Field(default=24_000, ge=500, description="size of a written brief, estimated tokens")
    knowledge: str = Field(default="", description="folder of Markdown files that briefs may quote")
    max_usd: float | None = Field(default=None, ge=0, description="hard stop for paid calls; None: no such limit")
    max_tokens: int | None = Field(default=None, ge=0, description="hard stop, in + out, for calls of any price")
    inject_rate: float = Field(default=0.0, ge=0, le=1, description="share of drafts begun from winners of near tasks")

    def to_share(self) -> Settings:
        """For what leaves this machine: files are named without their folders."""
        kind, colon, argument = self.proposer.partition(":")
        named = {"proposer": f"{kind}{colon}{PurePath(argument).name}", "knowledge": PurePath(self.knowledge).name}
        return self.model_copy(update=named)


class Opened(Value):
    kind: Literal["opened"] = "opened"
    task: Task
    settings: Settings
    facts: PlatformFacts
    user_baselines: tuple[Candidate, ...] = ()
    judge: str = Field(default="", description="version of the judge: verdicts of two versions are not comparable")
    time: str = Field(description="UTC, ISO 8601")


class Asked(Value):
    """A question to the proposer. Its brief is not kept: the tree folded from the campaign's first `seq` events and
    the same settings write it again, byte for byte. Without an `Answered` it is asked again on resume."""

    kind: Literal["asked"] = "asked"
    ask: int = Field(ge=1)
    move: Move
    n_wanted: int = Field(default=1, ge=1)
    seq: int = Field(ge=1, description="events in the campaign when the brief was written")
    elapsed_s: float


class Reserved(Value):
    """Set aside before a call to a model is made, so that no crash and no parallel call can overspend."""

    kind: Literal["reserved"] = "reserved"
    call: int = Field(ge=1)
    ask: int = Field(ge=0)
    model: str
    request: str = Field(description="sha256 of what is sent: the same request is never paid for twice")
    tokens: int = Field(ge=0, description="most it can use, in + out")
    usd: float | None = Field(default=None, description="most it can cost; None: price unknown")
    elapsed_s: float


class Settled(Value):
    """What the call really took, and its answer. `lost`: the process died in between; the reservation stays spent."""

    kind: Literal["settled"] = "settled"
    call: int = Field(ge=1)
    outcome: Literal["answered", "failed", "lost"]
    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    usd: float | None = None
    answer: str = ""
    message: str = ""
    elapsed_s: float


class Answered(Value):
    """The question is done with, whatever came of it: what it brought is proposed in the same transaction."""

    kind: Literal["answered"] = "answered"
    ask: int = Field(ge=1)
    n_candidates: int = Field(ge=0)
    message: str = Field(default="", description="why nothing came, or what was dropped")
    items: tuple[str, ...] = Field(default=(), description="ids of what the brief contained")
    elapsed_s: float


class Insight(Value):
    """What an agent or a person wants remembered about some steps. Advice for briefs, never evidence."""

    kind: Literal["insight"] = "insight"
    number: int = Field(ge=1)
    text: str
    steps: tuple[int, ...] = ()
    author: str = ""
    elapsed_s: float


class Proposed(Value):
    """A node is born. Resume evaluates a proposed but unjudged node; it never proposes it again."""

    kind: Literal["proposed"] = "proposed"
    step: int = Field(ge=1)
    move: Move
    candidate: Candidate
    ask: int | None = Field(default=None, description="the question it answers")
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


Event = Annotated[
    Opened
    | Asked
    | Reserved
    | Settled
    | Answered
    | Insight
    | Proposed
    | Judged
    | Diagnosed
    | Confirmed
    | Sealed
    | Closed,
    Field(discriminator="kind"),
]
_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)


def event_from_json(text: str | bytes) -> Event:
    return _ADAPTER.validate_json(text)
