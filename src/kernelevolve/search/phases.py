"""What all policies share: first drafts, then expansion, and in a stall the ways out of it."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from kernelevolve.model.brief import Move
from kernelevolve.search.moves import Moves
from kernelevolve.search.stagnation import escape
from kernelevolve.search.tree import Tree

Expand = Callable[[], None]
"""Takes one more move, or none when it has no good one."""


class PhasedPolicy(ABC):
    """Subclasses say how to expand. The first `n_drafts` attempts are drafts without memory."""

    name: ClassVar[str]
    escapes: ClassVar[bool] = True

    def __init__(self, *, n_drafts: int = 8) -> None:
        self._n_drafts = n_drafts

    @abstractmethod
    def expansion(self, tree: Tree, rng: random.Random, moves: Moves) -> Expand:
        """Called once per ask, when something usable exists; its result once per move."""
        ...

    def ask(self, tree: Tree, rng: random.Random, n: int) -> list[Move]:
        moves = Moves(tree, self.name)
        n_first = self._n_drafts - tree.n_started
        expand: Expand | None = None
        while len(moves.taken) < n:
            n_before = len(moves.taken)
            if n_before < n_first:
                moves.draft("a first start")
            elif not tree.n_usable:
                moves.repair_or_draft(rng)
            elif not (self.escapes and escape(tree, moves, rng)):
                expand = expand or self.expansion(tree, rng, moves)
                expand()
                if len(moves.taken) == n_before:
                    moves.draft("every good parent is in work")
        return moves.taken
