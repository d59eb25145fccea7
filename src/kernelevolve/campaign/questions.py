"""Which question is asked next, and the brief that goes with it. All of it follows from the tree and the seed, so a
campaign that was cut off asks the same questions when it is resumed, and those left open again with the same brief."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from kernelevolve.campaign.brief import BriefWriter
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.seeds import inject_rng, policy_rng
from kernelevolve.model.brief import Brief, Move, Operator
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Answered, Asked, Proposed
from kernelevolve.model.normal import normal_id
from kernelevolve.search.base import Policy
from kernelevolve.search.tree import Tree

BATCH = 2  # while one candidate is timed the next is built
DEVICE_BATCH = 8  # what a device's clock times, builds do not disturb: as many as cores can be put to use
N_EMPTY = 3
"""So many times in a row a proposer may have nothing new before it is believed."""
N_USELESS = 10
"""So many answers in a row may be of no use for any reason, unreadable ones included."""
NOTHING = "nothing was offered"
REPEATS = "only repeats of earlier candidates"
REFUSED = "cannot serve: "


@dataclass(frozen=True, kw_only=True)
class Question:
    asked: Asked
    brief: Brief


def n_at_once(journal: Journal) -> int:
    """Candidates that are with the farm together."""
    return DEVICE_BATCH if journal.opened.task.objective.clock == "device" else BATCH


def useless(tree: Tree) -> list[Answered]:
    """The latest answers, newest first, as far as none of them brought a candidate."""
    found: list[Answered] = []
    for answered in reversed(tree.answers.values()):
        if answered.n_candidates:
            break
        found.append(answered)
    return found


class Questions:
    """`n_open` may be open at once. `reserve`: candidates that may lie ready beyond those with the farm."""

    def __init__(
        self, *, journal: Journal, policy: Policy, winners: Sequence[Candidate], n_open: int, reserve: int
    ) -> None:
        self._journal = journal
        self._policy = policy
        self._winners = {normal_id(winner): winner for winner in winners}
        self._n_open = n_open
        self._most = n_at_once(journal) + reserve
        self._writer = BriefWriter(opened=journal.opened, tree=journal.tree)

    def reopened(self) -> list[Question]:
        """Those of earlier runs that have no answer."""
        found = []
        for asked in self._journal.tree.open_asks:
            writer = BriefWriter(opened=self._journal.opened, tree=self._journal.as_of(asked.seq))
            brief = writer.write(asked.move, ask=asked.ask, n_wanted=asked.n_wanted)
            found.append(Question(asked=asked, brief=brief))
        return found

    def next(self) -> Question | None:
        """Recorded already. None: there is no room for more candidates now, or the proposer has run dry."""
        with self._journal.lock:
            while (room := self._room()) > 0:
                ask = len(self._journal.tree.asks) + 1
                rng = policy_rng(self._journal.settings.seed, ask)
                moves = self._policy.ask(self._journal.tree, rng, room)
                if not self._inject(ask, moves[0]):
                    return self._ask(ask, moves[0], _n_alike(moves))
        return None

    def dry(self) -> bool:
        """Whether the proposer has been given up."""
        latest = useless(self._journal.tree)
        return _n_empty(latest) >= N_EMPTY * self._n_open or len(latest) >= N_USELESS * self._n_open

    def insists(self) -> bool:
        """Whether the next answer that holds nothing but repeats is to be taken as it is."""
        return _n_empty(useless(self._journal.tree)) >= N_EMPTY * self._n_open - 1

    def _room(self) -> int:
        """Candidates the next question may ask for."""
        tree = self._journal.tree
        opened = tree.open_asks
        if len(opened) >= self._n_open or self.dry():
            return 0
        if tree.pending and _n_empty(useless(tree)) >= self._n_open:
            return 0  # it had nothing new; it may have when it knows more
        coming = sum(asked.n_wanted for asked in opened)
        room = min(self._most - len(tree.pending) - coming, self._journal.settings.max_candidates - len(tree) - coming)
        return max(min(1, room), room // (self._n_open - len(opened)))

    def _ask(self, ask: int, move: Move, n_wanted: int) -> Question:
        journal = self._journal
        seq = journal.tree.n_events
        brief = self._writer.write(move, ask=ask, n_wanted=n_wanted)
        asked = Asked(ask=ask, move=move, n_wanted=n_wanted, seq=seq, elapsed_s=journal.elapsed_s)
        journal.record(asked)
        return Question(asked=asked, brief=brief)

    def _inject(self, ask: int, move: Move) -> bool:
        """Begin a draft with what won elsewhere, instead of asking for one."""
        journal, step = self._journal, len(self._journal.tree) + 1
        unused = next((one for key, one in self._winners.items() if journal.tree.first_of(key) is None), None)
        draw = inject_rng(journal.settings.seed, ask, step).random()
        if unused is None or move.operator is not Operator.DRAFT or draw >= journal.settings.inject_rate:
            return False
        begun = Move(operator=Operator.DRAFT, memory=move.memory, reason="begun from what won in an earlier campaign")
        journal.record(Proposed(step=step, move=begun, candidate=unused, elapsed_s=journal.elapsed_s))
        return True


def _n_empty(latest: Sequence[Answered]) -> int:
    """How many of the latest answers in a row held nothing, though the proposer was well."""
    return len(list(takewhile(lambda one: one.message.startswith((NOTHING, REPEATS, REFUSED)), latest)))


def _n_alike(moves: Sequence[Move]) -> int:
    """Drafts go into one question, so that the proposer makes them different from each other."""
    first = moves[0]
    if first.operator is not Operator.DRAFT:
        return 1
    kind = (first.operator, first.memory, first.language, first.avoid)
    return sum((move.operator, move.memory, move.language, move.avoid) == kind for move in moves)
