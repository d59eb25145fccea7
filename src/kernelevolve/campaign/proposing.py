"""Questions put to the proposer, and what becomes of its answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from kernelevolve.briefs.render import render
from kernelevolve.campaign.background import Background, Outcome, outcome_of
from kernelevolve.campaign.intake import answer_events
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.ledger import EventLedger
from kernelevolve.campaign.questions import REFUSED, Question, Questions
from kernelevolve.campaign.stopping import SPENT, time_spent
from kernelevolve.errors import MachineError, ProposerError, RecordError, SpentError, ToolMissingError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Answered
from kernelevolve.proposers.base import Proposer
from kernelevolve.search.base import Policy

FREE = ("builtin", "fake", "replay", "replay_tree")
"""They answer at once and cost nothing: asked in the loop's own thread, one question at a time."""
BACKOFF_S = (1.0, 5.0, 25.0, 60.0, 120.0)
"""Waited before a question is put again after the proposer's machine failed."""
POLL_S = 0.1
Answer = list[Candidate]


class Proposing:
    """`many`: more than one question may be open, and answers are taken as they come. Otherwise everything has its
    order, so that a campaign whose proposer and farm are deterministic is so too."""

    def __init__(
        self,
        *,
        journal: Journal,
        proposer: Proposer,
        policy: Policy,
        winners: Sequence[Candidate],
        sleep: Callable[[float], None],
        done: threading.Event,
    ) -> None:
        self._journal = journal
        self._proposer = proposer
        self._sleep = sleep
        self._done = done
        self._free = proposer.name in FREE
        n_open = 1 if self._free else journal.settings.n_asks
        self.many = n_open > 1
        self._questions = Questions(
            journal=journal, policy=policy, winners=winners, n_open=n_open, reserve=0 if self._free else n_open
        )
        self._waiting = self._questions.reopened()  # recorded and not put to the proposer
        self._background: Background[int, Answer] = Background(done)
        self._put: dict[int, Question] = {}
        self._spent_for_now = False
        self._failure: MachineError | None = None

    @property
    def waiting(self) -> bool:
        """Whether an answer may still come."""
        return bool(self._put or (self._waiting and self._failure is None))

    def ask(self, *, new: bool) -> bool:
        """Put one question; without `new` only one that was recorded before. False: there was none to put. Raises
        ProposerError when the proposer cannot serve the task at all."""
        if self._failure is not None or (self._spent_for_now and self._put):
            return False
        question = self._waiting.pop(0) if self._waiting else self._questions.next() if new else None
        if question is not None:
            self._start(question)
        return question is not None

    def collect(self) -> None:
        """Take the answers that have come."""
        for ask, outcome in self._background.ended():
            self._take(self._put.pop(ask), outcome)

    def abandon(self, why: str) -> None:
        """Nobody waits any longer. What their calls may have cost stays spent."""
        for ask in tuple(self._background.running):
            self._background.drop(ask)
        self._put.clear()
        self._waiting.clear()
        with self._journal.lock:
            EventLedger(self._journal).lose(why)
            left = self._journal.tree.open_asks
            now_s = self._journal.elapsed_s
            message = f"given up: {why}"
            given_up = [Answered(ask=one.ask, n_candidates=0, message=message, elapsed_s=now_s) for one in left]
            if given_up:
                self._journal.record(*given_up)

    def raise_failure(self) -> None:
        """Raises the MachineError of a proposer that kept failing: its question stays open for the next run."""
        if self._failure is not None:
            raise self._failure

    def _start(self, question: Question) -> None:
        move = question.asked.move
        parents = " and ".join(map(str, move.parents))
        self._journal.say(f"{self._proposer.name}: {move.operator.value} {parents}".strip())
        if self._free:
            self._take(question, outcome_of(lambda: self._proposed(question.brief)))
            return
        ask = question.asked.ask
        self._put[ask] = question
        self._background.start(ask, lambda: self._proposed(question.brief))
        while not self.many and self._put and not self._time_is_up():
            self._done.wait(POLL_S)
            self._done.clear()
            self.collect()

    def _time_is_up(self) -> bool:
        return time_spent(self._journal.tree, self._journal.settings, self._journal.elapsed_s) is not None

    def _proposed(self, brief: Brief) -> Answer:
        """Patient with the machine; a proposer that is down for minutes does not use up the search's time, unless
        other questions are open."""
        for wait_s in (0.0, 0.0) if self._free else BACKOFF_S:
            try:
                return self._proposer.propose(brief)
            except ToolMissingError:
                raise
            except MachineError as error:
                if self._journal.shut:
                    raise
                self._journal.say(f"proposer {self._proposer.name} failed, asked again in {wait_s:g} s: {error}")
            if self.many:
                self._sleep(wait_s)
                continue
            with self._journal.stopwatch.left_out():
                self._sleep(wait_s)
        return self._proposer.propose(brief)

    def _take(self, question: Question, outcome: Outcome[Answer]) -> None:
        candidates: Answer = []
        message = ""
        self._spent_for_now = False
        try:
            candidates = outcome.value()
        except RecordError as error:  # an answer that could not be read: as good as none
            message = str(error)
        except SpentError as error:
            if self._put:  # what the open calls do not need may be enough for this one
                self._spent_for_now = True
                self._waiting.append(question)
                return
            message = f"{SPENT}{error}"
        except MachineError as error:
            self._failure = error
            return
        except ProposerError as error:
            if not len(self._journal.tree):
                raise
            message = f"{REFUSED}{error}"
        if message:
            self._journal.say(f"proposer {self._proposer.name}: {message}")
        items = self._shown(question.brief)
        with self._journal.lock:
            insists = self._questions.insists()
            events = answer_events(self._journal, question, candidates, message=message, insists=insists, items=items)
            self._journal.record(*events)

    def _shown(self, brief: Brief) -> tuple[str, ...]:
        """Ids of what a proposer that reads its brief found there, so that it can be asked which of it helped."""
        return () if self._free else render(brief, tokens=self._journal.settings.brief_tokens).ids
