"""Briefs: what a proposer is told. Shapes it must not know are taken out here."""

from __future__ import annotations

from kernelevolve.briefs.hidden import Hidden
from kernelevolve.briefs.knowledge import Knowledge, make_knowledge
from kernelevolve.briefs.query import query_of
from kernelevolve.campaign.changes import change_of, short_diff
from kernelevolve.campaign.remembering import Choice, Counts, remembered
from kernelevolve.campaign.seeds import move_seed
from kernelevolve.campaign.spending import spent_by_name
from kernelevolve.model.brief import Attempt, Brief, Memory, Move, Note, Remembered
from kernelevolve.model.events import Insight, Opened
from kernelevolve.model.verdict import Mismatch, Verdict
from kernelevolve.search.tree import Node, Tree


class BriefWriter:
    """One per run: an attempt is made once and shared by all briefs that mention it.

    A brief is a function of the tree, the opening and the arguments alone. So the tree folded from the campaign's
    first `Asked.seq` events gives the brief of that question again, byte for byte (while the folder of knowledge, where
    there is one, is the same).
    """

    def __init__(
        self, *, opened: Opened, tree: Tree, knowledge: Knowledge | None = None, counts: Counts | None = None
    ) -> None:
        """`knowledge`: by default what the settings name. Raises UsageError when that is a folder that is missing."""
        self._opened = opened
        self._tree = tree
        self._knowledge = knowledge or make_knowledge(opened.settings.knowledge)
        self._counts = counts or Counts()
        self._task = opened.task.public()
        self._hidden = Hidden(opened.task)
        self._attempts: dict[int, tuple[Node, Attempt]] = {}

    def write(self, move: Move, *, ask: int, n_wanted: int = 1, seed: int | None = None) -> Brief:
        """For question `ask`. The seed follows from its number, unless it is given."""
        settings, tree = self._opened.settings, self._tree
        brief = Brief(
            task=self._task,
            facts=self._opened.facts,
            move=move,
            parents=tuple(self._attempt(tree.node(parent)) for parent in move.parents),
            history=tuple(self._attempt(node) for node in tree.nodes if not node.pending),
            remembered=tuple(map(self._remembered, remembered(tree, move, self._counts))),
            notes=self._notes(move),
            n_proposed=len(tree),
            in_flight=tuple(node.candidate for node in tree.pending),
            spent=spent_by_name(tree),
            ask=ask,
            n_wanted=n_wanted,
            remaining=max(0, settings.max_candidates - len(tree)),
            seed=move_seed(settings.seed, ask) if seed is None else seed,
        )
        found = tuple(self._knowledge.find(query_of(brief), self._counts.n_knowledge))
        return brief.model_copy(update={"knowledge": found}) if found else brief

    def _remembered(self, choice: Choice) -> Remembered:
        node = choice.node
        parent = node.move.parents[0] if node.move.parents else None
        before = self._tree.node(parent).candidate if parent is not None else None
        return Remembered(
            attempt=self._attempt(node),
            role=choice.role,
            why=choice.why,
            parent=parent,
            change=change_of(node.candidate, before),
            diff=short_diff(node.candidate, before),
        )

    def _notes(self, move: Move) -> tuple[Note, ...]:
        """A clean start is told only what is about no step."""
        told = [item for item in self._tree.insights if move.memory is not Memory.CLEAN or not item.steps]
        n = self._counts.n_notes
        return tuple(map(self._note, told[-n:] if n else []))

    def _note(self, item: Insight) -> Note:
        return Note(number=item.number, text=self._hidden.remark(item.text), steps=item.steps, author=item.author)

    def _attempt(self, node: Node) -> Attempt:
        """Kept until the node changes: its diagnosis may come later than its verdict."""
        known = self._attempts.get(node.step)
        if known is None or known[0] is not node:
            known = self._attempts[node.step] = node, self._write_attempt(node)
        return known[1]

    def _write_attempt(self, node: Node) -> Attempt:
        verdict = node.verdict
        assert verdict is not None
        parent = self._tree.node(node.move.parents[0]).verdict if node.move.parents else None
        timing, before = verdict.timing, parent.timing if parent else None
        return Attempt(
            step=node.step,
            candidate=node.candidate,
            outcome=verdict.outcome,
            message=self._message(verdict),
            compile_messages=self._hidden.messages(verdict.compile_messages),
            speedup=timing.speedup if timing else None,
            parent_speedup=before.speedup if before else None,
            interval=(timing.low, timing.high) if timing else None,
            parent_interval=(before.low, before.high) if before else None,
            disturbed=verdict.disturbed,
            diagnosis=self._hidden.diagnosis(node.diagnosis),
        )

    def _message(self, verdict: Verdict) -> str:
        text = verdict.message
        if verdict.mismatch is not None and verdict.mismatch.tensor not in text:
            text = f"{text}; {_where(verdict.mismatch)}" if text else _where(verdict.mismatch)
        return self._hidden.text(text)


def _where(mismatch: Mismatch) -> str:
    wrong = f"{mismatch.tensor}: {mismatch.n_wrong} of {mismatch.n_total} elements differ"
    return f"{wrong}, the first got {mismatch.got}, expected {mismatch.expected}" if mismatch.got else wrong
