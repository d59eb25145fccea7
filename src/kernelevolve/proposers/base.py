"""The contract of a proposer: a Brief in, Candidates out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from kernelevolve.errors import UsageError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate


class Proposer(Protocol):
    """Called by the campaign, once per question; when several may be open at once, from several threads.

    A proposer sees the Brief and nothing else: no tree, no store, no judge. Its only source of randomness is
    `brief.seed`, so that equal briefs give equal candidates. It may return fewer candidates than `brief.n_wanted`,
    and none when it has nothing left to try. Raises ProposerError when it cannot serve the task at all.
    """

    name: str

    def propose(self, brief: Brief) -> list[Candidate]: ...


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What one call to a model took. `usd` is None where its price is unknown: never taken for zero."""

    outcome: Literal["answered", "failed"]
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = None
    answer: str = ""
    message: str = ""


class Ledger(Protocol):
    """Keeps what calls to models cost. Safe to use from several threads."""

    def answer(self, request: str) -> str | None:
        """What this very request (a sha256) was answered, if it was ever paid for: nothing is paid for twice."""
        ...

    def reserve(self, *, ask: int, model: str, request: str, tokens: int, usd: float | None) -> int:
        """Set aside the most a call can take, before it is made; returns its number. Raises SpentError when a limit
        would be passed. `usd` None: the price is unknown, and only the limit on tokens protects."""
        ...

    def settle(self, call: int, usage: Usage) -> None:
        """Exactly once for every reservation, failed and cancelled calls included."""
        ...


class NoLedger:
    """Lets everything pass and remembers nothing: for proposers that cost nothing, and for tests."""

    def answer(self, request: str) -> str | None:
        return None

    def reserve(self, *, ask: int, model: str, request: str, tokens: int, usd: float | None) -> int:
        return 0

    def settle(self, call: int, usage: Usage) -> None:
        return


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What a campaign hands to its proposer: the only way out that it has."""

    ledger: Ledger = field(default_factory=NoLedger)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda text: None
    brief_tokens: int = 24_000
    shown: Callable[[int, tuple[str, ...]], None] = lambda ask, items: None
    """Told the number of a question and the ids of what its written brief held."""
    transcripts: Path | None = None
    """Folder for what commands print, one file per run; None: it is not kept."""


def without_argument(kind: str, argument: str) -> None:
    """Raises UsageError when a proposer that takes none was given one."""
    if argument:
        raise UsageError(f"proposer '{kind}' takes nothing after a colon, got '{argument}'")
