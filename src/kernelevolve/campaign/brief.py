"""Briefs: what a proposer is told. Shapes it must not know are taken out here."""

from __future__ import annotations

import re

from kernelevolve.campaign.seeds import move_seed
from kernelevolve.model.brief import Attempt, Brief, Move
from kernelevolve.model.events import Opened
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Mismatch, Verdict
from kernelevolve.search.tree import Node, Tree


class BriefWriter:
    """One per run: an attempt is made once and shared by all briefs that mention it."""

    def __init__(self, *, opened: Opened, tree: Tree) -> None:
        self._opened = opened
        self._tree = tree
        self._task = opened.task.public()
        self._hidden = _hidden_sizes(opened.task)
        self._attempts: dict[int, Attempt] = {}

    def write(self, move: Move, *, step: int, attempt: int, n_wanted: int) -> Brief:
        """For the candidates of `step` and, when `n_wanted` is above 1, of the steps after it."""
        settings = self._opened.settings
        judged = [node for node in self._tree.nodes if not node.pending]
        return Brief(
            task=self._task,
            facts=self._opened.facts,
            move=move,
            parents=tuple(self._attempt(self._tree.node(parent)) for parent in move.parents),
            history=tuple(map(self._attempt, judged)),
            n_wanted=n_wanted,
            remaining=settings.max_candidates - step + 1,
            seed=move_seed(settings.seed, step, attempt),
        )

    def _attempt(self, node: Node) -> Attempt:
        if node.step not in self._attempts:
            self._attempts[node.step] = self._write_attempt(node)
        return self._attempts[node.step]

    def _write_attempt(self, node: Node) -> Attempt:
        verdict = node.verdict
        assert verdict is not None
        parent = self._tree.node(node.move.parents[0]).verdict if node.move.parents else None
        return Attempt(
            step=node.step,
            candidate=node.candidate,
            outcome=verdict.outcome,
            message=self._message(verdict),
            compile_messages=verdict.compile_messages,
            speedup=verdict.timing.speedup if verdict.timing else None,
            parent_speedup=parent.timing.speedup if parent and parent.timing else None,
            diagnosis=node.diagnosis,
        )

    def _message(self, verdict: Verdict) -> str:
        text = verdict.message
        if verdict.mismatch is not None and verdict.mismatch.tensor not in text:
            text = f"{text}; {_where(verdict.mismatch)}" if text else _where(verdict.mismatch)
        for name, sizes in self._hidden.items():
            numbers = "|".join(map(str, sorted(sizes, reverse=True)))
            text = re.sub(rf"(\b{name}\b['\"]?\s*[=:]\s*)(?:{numbers})\b", r"\1(hidden)", text)
        return text


def _where(mismatch: Mismatch) -> str:
    wrong = f"{mismatch.tensor}: {mismatch.n_wrong} of {mismatch.n_total} elements differ"
    return f"{wrong}, the first got {mismatch.got}, expected {mismatch.expected}" if mismatch.got else wrong


def _hidden_sizes(task: Task) -> dict[str, set[int]]:
    """Axis -> sizes that only hidden shapes have."""
    shown = {(name, size) for shape in task.shapes.shown for name, size in shape.items()}
    hidden: dict[str, set[int]] = {}
    for shape in (*task.shapes.search, *task.shapes.sealed):
        for name, size in shape.items():
            if (name, size) not in shown:
                hidden.setdefault(name, set()).add(size)
    return hidden
