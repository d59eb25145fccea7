"""No judgement at all: the yardstick every other policy has to beat."""

from __future__ import annotations

import random

from kernelevolve.model.brief import Move
from kernelevolve.search.moves import Moves, n_drafts_missing, shuffled
from kernelevolve.search.tree import Tree


class RandomPolicy:
    """Drafts first; then a third drafts, else any usable node is mutated or two are crossed."""

    def __init__(self, *, n_drafts: int = 8) -> None:
        self._n_drafts = n_drafts

    def ask(self, tree: Tree, rng: random.Random, n: int) -> list[Move]:
        moves = Moves(tree)
        while len(moves.taken) < n:
            usable = shuffled(rng, tree.frontier())
            draw = rng.random()
            if len(moves.taken) < n_drafts_missing(tree, self._n_drafts):
                moves.draft("a first start")
            elif not usable:
                moves.repair_or_draft(tree, rng)
            elif draw < 0.2 and moves.cross(usable[0], usable[1:], "two at random"):
                continue
            elif draw > 0.67 or not moves.mutate(usable, "one at random"):
                moves.draft("a start at random")
        return moves.taken
