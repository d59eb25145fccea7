"""No judgement at all: the yardstick every other policy has to beat."""

from __future__ import annotations

import random

from kernelevolve.search.moves import Moves
from kernelevolve.search.phases import Expand, PhasedPolicy
from kernelevolve.search.tree import Node, Tree

N_TRIES = 8


class RandomPolicy(PhasedPolicy):
    """Drafts first; then a third drafts, else any usable node of a living branch is mutated or two are crossed."""

    name = "random"
    escapes = False

    def expansion(self, tree: Tree, rng: random.Random, moves: Moves) -> Expand:
        def expand() -> None:
            nodes = _some(tree, rng, moves)
            draw = rng.random()
            if draw < 0.2 and nodes and moves.cross(nodes[0], nodes[1:], "two at random"):
                return
            if draw <= 0.67 or not moves.mutate(nodes, "one at random"):
                moves.draft("a start at random")

        return expand


def _some(tree: Tree, rng: random.Random, moves: Moves) -> list[Node]:
    """A few usable nodes, without a look at all of them; where that finds no living one, the first living one."""
    places = dict.fromkeys(rng.randrange(tree.n_usable) for _ in range(N_TRIES))
    nodes = [node for node in map(tree.at_place, places) if moves.alive(node.step)]
    return nodes or moves.top(1)
