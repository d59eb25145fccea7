"""Branches: a node that beat what it came from, and everything below it that did not beat it in turn.

A branch whose last attempts all failed or were no faster is dead: no policy spends moves on it while another lives.
What beat its head lives on as a branch of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelevolve.model.events import Settings

if TYPE_CHECKING:
    from kernelevolve.search.tree import Tree

MIN_LIMIT, MAX_LIMIT = 6, 40


def limit_of(settings: Settings) -> int:
    """Attempts in a row without gain that end a branch: an eighth of the budget, within 6..40."""
    return min(MAX_LIMIT, max(MIN_LIMIT, settings.max_candidates // 8))


@dataclass(kw_only=True)
class Streak:
    """Attempts from one branch since the last that gained."""

    failed: int = 0
    repeated: int = 0
    slower: int = 0

    @property
    def total(self) -> int:
        return self.failed + self.repeated + self.slower

    @property
    def reason(self) -> str:
        kinds = [(self.failed, "failed"), (self.repeated, "repeated an earlier one"), (self.slower, "no better")]
        return f"the last {self.total} attempts from it: " + ", ".join(f"{n} {what}" for n, what in kinds if n)


class Branches:
    """Folded with the tree, O(1) per node. Entry 0 of each list stands for the root of all drafts."""

    def __init__(self, *, limit: int = MAX_LIMIT) -> None:
        self.limit = limit
        self.head: list[int] = [0]
        self.gains: list[bool] = [True]
        self._scores: list[float | None] = [None]
        self._streaks: dict[int, Streak] = {}
        self._dead: dict[int, None] = {}
        self._n_usable: dict[int, int] = {}
        self._n_usable_all = 0

    def born(self, step: int, parent: int) -> None:
        self.head.append(self.head[parent] or step)
        self.gains.append(False)
        self._scores.append(None)

    def judged(self, step: int, parent: int, score: float | None, *, repeat: bool) -> None:
        """`score` None: failed. `repeat`: the same as an earlier node, whatever its score."""
        usable = None if repeat else score
        self._scores[step] = usable
        above = self.head[parent]
        bar = self._scores[above]
        if usable is not None and (not above or bar is None or usable > bar):
            self.head[step] = step
            self.gains[step] = self.gains[parent]
            self._revive(above)
        elif above:
            self._extend(above, failed=score is None, repeat=repeat)
        else:
            self.head[step] = step
        if usable is not None:
            self._n_usable_all += 1
            self._n_usable[self.head[step]] = self._n_usable.get(self.head[step], 0) + 1

    def _revive(self, head: int) -> None:
        self._streaks.pop(head, None)
        self._dead.pop(head, None)

    def _extend(self, head: int, *, failed: bool, repeat: bool) -> None:
        streak = self._streaks.setdefault(head, Streak())
        if repeat:
            streak.repeated += 1
        elif failed:
            streak.failed += 1
        else:
            streak.slower += 1
        if streak.total >= self.limit:
            self._dead[head] = None

    def is_dead(self, step: int) -> bool:
        return self.head[step] in self._dead

    @property
    def any_alive(self) -> bool:
        """Is there a usable node in a branch that lives?"""
        return self._n_usable_all > sum(self._n_usable.get(head, 0) for head in self._dead)

    @property
    def dead(self) -> dict[int, str]:
        """The head of every dead branch, and why."""
        return {head: self._streaks[head].reason for head in self._dead}


def dead(tree: Tree) -> dict[int, str]:
    """The head of every dead branch, and why it is dead: for views of the tree."""
    return tree.index.branches.dead
