"""The next batch: moves from the policy, candidates from the proposer."""

from __future__ import annotations

from kernelevolve.campaign.brief import BriefWriter
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.seeds import policy_rng
from kernelevolve.errors import MachineError, ProposerError, RecordError
from kernelevolve.model.brief import Brief, Move, Operator
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Proposed
from kernelevolve.proposers.base import Proposer
from kernelevolve.search.base import Policy

BATCH = 2  # while one candidate is timed the next is built
DEVICE_BATCH = 8  # what a device's clock times, builds do not disturb: as many as cores can be put to use
N_ATTEMPTS = 3


class Proposing:
    """A batch is a function of the tree and the seed alone, so a campaign that was cut off before it recorded a batch
    gets the same one when it is resumed."""

    def __init__(self, *, journal: Journal, proposer: Proposer, policy: Policy) -> None:
        self._journal = journal
        self._proposer = proposer
        self._policy = policy
        self._writer = BriefWriter(opened=journal.opened, tree=journal.tree)

    def next_batch(self) -> list[Proposed]:
        """Empty when the proposer has nothing more. Only a proposer that insists gets a repeat into the tree; of one
        candidate proposed twice in a batch the first counts. Raises MachineError when it kept failing, and
        ProposerError when it cannot serve the task at all."""
        repeats: list[Proposed] = []
        failure: MachineError | None = None
        for attempt in range(N_ATTEMPTS):
            try:
                batch = self._batch(attempt)
            except MachineError as error:
                self._journal.say(f"proposer {self._proposer.name} failed: {error}")
                failure = error
                continue
            new = [event for event in batch if self._journal.tree.first_of(event.candidate.id) is None]
            if new:
                return _renumbered(new, len(self._journal.tree) + 1)
            repeats = repeats or batch
        if failure is not None and not repeats:
            raise failure
        return repeats

    def _batch(self, attempt: int) -> list[Proposed]:
        journal, step = self._journal, len(self._journal.tree) + 1
        settings = journal.settings
        batch = DEVICE_BATCH if journal.opened.task.objective.clock == "device" else BATCH
        n_moves = min(batch, settings.max_candidates - step + 1)
        moves = self._policy.ask(journal.tree, policy_rng(settings.seed, step, attempt), n_moves)
        found: dict[str, Proposed] = {}
        for index, (move, n_wanted) in enumerate(_grouped(moves)):
            brief = self._writer.write(move, step=step + index, attempt=attempt, n_wanted=n_wanted)
            for candidate in self._propose(brief):
                event = Proposed(step=step + len(found), move=move, candidate=candidate, elapsed_s=journal.elapsed_s)
                found.setdefault(candidate.id, event)
        return list(found.values())

    def _propose(self, brief: Brief) -> list[Candidate]:
        name = self._proposer.name
        self._journal.say(f"{name}: {brief.move.operator.value} {' and '.join(map(str, brief.move.parents))}".strip())
        try:
            return self._proposer.propose(brief)[: brief.n_wanted]
        except RecordError as error:  # an answer that could not be read: as good as none
            self._journal.say(f"proposer {name}: {error}")
        except ProposerError as error:
            if not len(self._journal.tree):
                raise
            self._journal.say(f"proposer {name}: {error}")
        return []


def _grouped(moves: list[Move]) -> list[tuple[Move, int]]:
    """Drafts go into one brief, so that the proposer makes them different from each other."""
    drafts = [move for move in moves if move.operator is Operator.DRAFT]
    others = [(move, 1) for move in moves if move.operator is not Operator.DRAFT]
    return [(drafts[0], len(drafts)), *others] if drafts else others


def _renumbered(events: list[Proposed], first: int) -> list[Proposed]:
    return [event.model_copy(update={"step": first + index}) for index, event in enumerate(events)]
