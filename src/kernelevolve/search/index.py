"""What policies look up in a tree, kept up to date with every event so that asking costs no walk over all nodes."""

from __future__ import annotations

from dataclasses import dataclass

from kernelevolve.model.brief import Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.search.branches import Branches
from kernelevolve.search.descriptors import Cell, cell_of
from kernelevolve.search.ranking import Groups

ROOT = 0
"""Stands for the parent of all drafts."""
FADE = 0.98


@dataclass(kw_only=True)
class Credit:
    """What a policy's nodes brought. A node earns 1 as a new best, 1/(1 + better or equal nodes) otherwise; what is
    longer ago counts less."""

    tried: float = 0.0
    earned: float = 0.0

    def add(self, earned: float) -> None:
        self.tried = FADE * self.tried + 1.0
        self.earned = FADE * self.earned + earned


class Index:
    """Lists by step; entry `ROOT` stands for the root. Parents are first parents throughout."""

    def __init__(self) -> None:
        self.parent: list[int] = [ROOT]
        self.children: list[list[int]] = [[]]
        self.depth: list[int] = [-1]
        self.usable: list[bool] = [False]
        self.branches = Branches()
        self.repeats: dict[int, list[int]] = {}  # original -> steps with the same candidate
        self.levels: Groups[int] = Groups()  # by depth
        self.cells: Groups[Cell] = Groups()
        self.n_of_language: dict[str, int] = {}
        self.credits: dict[str, Credit] = {}
        self.rose_at = 0  # attempts begun when the best last rose

    def born(self, step: int, move: Move, candidate: Candidate) -> None:
        parent = move.parents[0] if move.parents else ROOT
        self.parent.append(parent)
        self.children.append([])
        self.children[parent].append(step)
        self.depth.append(self.depth[parent] + 1)
        self.usable.append(False)
        self.branches.born(step, parent)
        self.n_of_language[candidate.language] = self.n_of_language.get(candidate.language, 0) + 1

    def judged(
        self, step: int, candidate: Candidate, *, score: float | None, same_as: int | None, diagnosis: Diagnosis | None
    ) -> None:  # fmt: skip
        self.branches.judged(step, self.parent[step], score, repeat=same_as is not None)
        if same_as is not None:
            self.repeats.setdefault(same_as, []).append(step)
        elif score is not None:
            self.usable[step] = True
            self.levels.add(self.depth[step], score, step)
            self.cells.add(cell_of(candidate, diagnosis), score, step)

    def placed(self, move: Move, *, better: int | None, n_started: int) -> None:
        """`better`: nodes with a score at least as high, None for a node that is not ranked."""
        if better == 0:
            self.rose_at = n_started
        if move.policy:
            self.credits.setdefault(move.policy, Credit()).add(0.0 if better is None else 1.0 / (1.0 + better))

    def diagnosed(
        self, step: int, candidate: Candidate, *, score: float, before: Diagnosis | None, after: Diagnosis
    ) -> None:  # fmt: skip
        old, new = cell_of(candidate, before), cell_of(candidate, after)
        if old != new:
            self.cells.remove(old, score, step)
            self.cells.add(new, score, step)

    def is_below(self, step: int, above: int) -> bool:
        """Is `above` the step itself or an ancestor of it? Parents have lower steps, so the walk ends early."""
        while step > above:
            step = self.parent[step]
        return step == above
