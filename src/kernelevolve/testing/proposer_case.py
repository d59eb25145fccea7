"""What every proposer must do. Subclass `ProposerCase`, write `make_proposer`, and pytest runs the rest."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from kernelevolve.model.brief import Attempt, Brief, Move, Operator
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Outcome
from kernelevolve.proposers.base import Proposer
from kernelevolve.testing.samples import sample_task

SAMPLE_FACTS = PlatformFacts(
    name="cpu", kind="cpu", model="sample", n_cores=2, isa=("avx2", "avx512f", "avx512dq", "avx512bw", "avx512vl")
)


def sample_attempt(step: int, candidate: Candidate, *, speedup: float | None = 1.0) -> Attempt:
    """`speedup` None: the candidate was wrong."""
    outcome = Outcome.CORRECT if speedup else Outcome.WRONG
    return Attempt(step=step, candidate=candidate, outcome=outcome, speedup=speedup)


def sample_brief(
    task: Task, *, operator: Operator = Operator.DRAFT, parents: tuple[Attempt, ...] = (),
    history: tuple[Attempt, ...] = (), n_wanted: int = 1, seed: int = 0,
) -> Brief:  # fmt: skip
    move = Move(operator=operator, parents=tuple(parent.step for parent in parents))
    return Brief(
        task=task.public(), facts=SAMPLE_FACTS, move=move, parents=parents, history=history, n_wanted=n_wanted,
        seed=seed,
    )  # fmt: skip


class ProposerCase(ABC):
    resends = False
    """Whether it may offer again what the history already has (a replay does)."""

    @abstractmethod
    def make_proposer(self, folder: Path) -> Proposer: ...

    def make_task(self) -> Task:
        """A task the proposer can serve."""
        return sample_task()

    @pytest.fixture
    def proposer(self, tmp_path: Path) -> Proposer:
        return self.make_proposer(tmp_path)

    def campaign(self, proposer: Proposer, n_steps: int) -> list[Attempt]:
        """Drafts, mutations and crossovers in turn, with made-up speedups; stops when nothing is offered."""
        history: list[Attempt] = []
        for step in range(1, n_steps + 1):
            best = sorted(history, key=lambda attempt: attempt.speedup or 0.0, reverse=True)
            operator = list(Operator)[step % 3] if len(best) > 1 else Operator.DRAFT
            n_parents = {Operator.DRAFT: 0, Operator.MUTATE: 1, Operator.CROSS: 2}[operator]
            brief = sample_brief(
                self.make_task(), operator=operator, parents=tuple(best[:n_parents]), history=tuple(history), seed=step
            )
            for candidate in proposer.propose(brief):
                speedup = None if step % 5 == 0 else 1 + step * 7 % 11 / 10
                history.append(sample_attempt(step, candidate, speedup=speedup))
        return history

    def test_offers_at_most_what_is_wanted_and_something_at_first(self, proposer: Proposer) -> None:
        for n_wanted in (1, 3):
            found = proposer.propose(sample_brief(self.make_task(), n_wanted=n_wanted))
            assert 1 <= len(found) <= n_wanted
            assert len({candidate.id for candidate in found}) == len(found)

    def test_equal_briefs_give_equal_candidates(self, proposer: Proposer, tmp_path: Path) -> None:
        first = self.campaign(proposer, 9)
        again = self.campaign(self.make_proposer(tmp_path), 9)
        assert [attempt.to_json() for attempt in first] == [attempt.to_json() for attempt in again]

    def test_goes_on_where_a_campaign_stopped(self, proposer: Proposer, tmp_path: Path) -> None:
        whole = self.campaign(proposer, 6)
        brief = sample_brief(self.make_task(), history=tuple(whole), seed=99)
        fresh = self.make_proposer(tmp_path)
        assert [c.to_json() for c in fresh.propose(brief)] == [c.to_json() for c in proposer.propose(brief)]

    def test_candidates_say_where_they_come_from_and_survive_json(self, proposer: Proposer) -> None:
        for attempt in self.campaign(proposer, 6):
            candidate = attempt.candidate
            assert candidate.origin.proposer
            assert candidate.origin.intent
            assert Candidate.from_json(candidate.to_json()) == candidate
            assert not [flag for flag in candidate.flags if "/" in flag], "no path of this machine"
            assert json.loads(candidate.to_json())["files"]

    def test_does_not_repeat_itself(self, proposer: Proposer) -> None:
        if self.resends:
            pytest.skip("this proposer may repeat what was tried")
        history = self.campaign(proposer, 40)
        ids = [attempt.candidate.id for attempt in history]
        assert len(set(ids)) == len(ids)
