"""Greedy with drafts: start in several places, then improve the best."""

from __future__ import annotations

import random

from kernelevolve.search.moves import Moves, best_mostly, shuffled
from kernelevolve.search.phases import Expand, PhasedPolicy
from kernelevolve.search.tree import Tree


class GreedyPolicy(PhasedPolicy):
    """The `top_k` best nodes of living branches are worked on, the best of them mostly."""

    name = "greedy"

    def __init__(self, *, n_drafts: int = 8, top_k: int = 5) -> None:
        super().__init__(n_drafts=n_drafts)
        self._top_k = top_k

    def expansion(self, tree: Tree, rng: random.Random, moves: Moves) -> Expand:
        top = moves.top(self._top_k)

        def expand() -> None:
            draw = rng.random()
            if draw < 0.05:
                moves.draft("an occasional new start")
            elif draw >= 0.2 or not moves.cross(top[0], shuffled(rng, top[1:]), "combine the best with another"):
                moves.mutate(best_mostly(top, rng), f"improve one of the best {len(top)}")

        return expand
