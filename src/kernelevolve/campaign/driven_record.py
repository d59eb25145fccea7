"""What a campaign driven from outside records: questions, answers, candidates, insights; as the loop would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from kernelevolve.campaign.brief import BriefWriter
from kernelevolve.campaign.budget import Clock
from kernelevolve.campaign.journal import Journal
from kernelevolve.errors import SpentError, UsageError
from kernelevolve.model.brief import Brief, Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Answered, Asked, Event, Insight, Proposed
from kernelevolve.store.base import Store

ASKS_PER_CANDIDATE = 10
MAX_INSIGHTS = 200
MAX_TEXT = 4000


class WorkClock:
    """Runs only while there is work: what an agent thinks in between costs no search time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._done_s = 0.0
        self._since: float | None = None

    def __call__(self) -> float:
        since = self._since
        return self._done_s if since is None else self._done_s + self._clock() - since

    @contextmanager
    def running(self) -> Iterator[None]:
        self._since = self._clock()
        try:
            yield
        finally:
            total, self._since = self(), None
            self._done_s = total


@dataclass(frozen=True, kw_only=True)
class Written:
    asked: Asked
    brief: Brief


@dataclass(frozen=True, kw_only=True)
class _Says:
    say: Callable[[str], None]

    def on_event(self, event: Event) -> None:
        return

    def on_status(self, text: str) -> None:
        self.say(text)


class Record:
    """All methods are called under the journal's lock."""

    def __init__(self, *, store: Store, campaign_id: str, clock: Clock, say: Callable[[str], None]) -> None:
        self._work = WorkClock(clock)
        self.journal = Journal(store=store, campaign_id=campaign_id, listeners=[_Says(say=say)], clock=self._work)

    def counted(self) -> AbstractContextManager[None]:
        return self._work.running()

    def asked(self, move: Move, number: int) -> Written:
        """The same question asked again right away is the same question. Raises SpentError."""
        journal, tree = self.journal, self.journal.tree
        last = tree.asks.get(number - 1)
        if last is not None and last.seq == tree.n_events - 1 and last.move == move:
            return Written(asked=last, brief=write_brief(journal, last))
        most = ASKS_PER_CANDIDATE * journal.settings.max_candidates
        if number > most:
            raise SpentError(f"{most} briefs were asked for, no more are written; propose without one, or call finish")
        asked = Asked(ask=number, move=move, n_wanted=1, seq=tree.n_events, elapsed_s=journal.elapsed_s)
        brief = write_brief(journal, asked)
        journal.record(asked)
        return Written(asked=asked, brief=brief)

    def proposed(self, candidate: Candidate, *, move: Move, ask: int | None) -> int:
        """Returns the step. The first candidate for a question answers it. Raises UsageError for an unknown question
        or parent."""
        journal, tree = self.journal, self.journal.tree
        if ask is not None and ask not in tree.asks:
            raise UsageError(f"there is no question {ask}; take the number from get_brief, or leave it out")
        for parent in move.parents:
            tree.node(parent)
        step, elapsed_s = len(tree) + 1, journal.elapsed_s
        events: list[Event] = [Proposed(step=step, move=move, candidate=candidate, ask=ask, elapsed_s=elapsed_s)]
        if ask is not None and ask not in tree.answers:
            events.append(Answered(ask=ask, n_candidates=1, elapsed_s=elapsed_s))
        journal.record(*events)
        return step

    def insight(self, text: str, steps: tuple[int, ...], author: str) -> int:
        """Returns its number. Raises UsageError for one that is too long, SpentError when there are too many."""
        number = len(self.journal.tree.insights) + 1
        if not text.strip() or len(text) > MAX_TEXT:
            raise UsageError(f"an insight has 1 to {MAX_TEXT} characters, this one has {len(text)}")
        if number > MAX_INSIGHTS:
            raise SpentError(f"a campaign keeps {MAX_INSIGHTS} insights, and has as many")
        elapsed_s = self.journal.elapsed_s
        self.journal.record(Insight(number=number, text=text, steps=steps, author=author, elapsed_s=elapsed_s))
        return number

    def close_asks(self) -> None:
        """Questions nobody answered: done with, so that nothing is asked again."""
        message = "nothing was proposed for it"
        for asked in self.journal.tree.open_asks:
            elapsed_s = self.journal.elapsed_s
            self.journal.record(Answered(ask=asked.ask, n_candidates=0, message=message, elapsed_s=elapsed_s))


def write_brief(journal: Journal, asked: Asked) -> Brief:
    writer = BriefWriter(opened=journal.opened, tree=journal.tree)
    return writer.write(asked.move, ask=asked.ask, n_wanted=asked.n_wanted)
