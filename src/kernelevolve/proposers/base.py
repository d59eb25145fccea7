"""The contract of a proposer: a Brief in, Candidates out."""

from __future__ import annotations

from typing import Protocol

from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate


class Proposer(Protocol):
    """Called by the campaign, once per move.

    A proposer sees the Brief and nothing else: no tree, no store, no judge. Its only source of randomness is
    `brief.seed`, so that equal briefs give equal candidates. It may return fewer candidates than `brief.n_wanted`,
    and none when it has nothing left to try. Raises ProposerError when it cannot serve the task at all.
    """

    name: str

    def propose(self, brief: Brief) -> list[Candidate]: ...
