"""Beam search: of each depth only the best few are gone on from, each a fixed number of times."""

from __future__ import annotations

import random
from itertools import islice

from kernelevolve.model.brief import Operator
from kernelevolve.search.moves import Moves
from kernelevolve.search.phases import Expand, PhasedPolicy
from kernelevolve.search.tree import Tree


class BeamPolicy(PhasedPolicy):
    """The `width` best nodes of a depth get `expansion` children each, the shallowest depth first; then the search goes
    one deeper. Where it cannot, every beam gets as many children again. There is no barrier: a beam is what is
    known to be best at that depth now."""

    name = "beam"

    def __init__(self, *, n_drafts: int = 8, width: int = 4, per_node: int = 3, crossing: float = 0.15) -> None:
        super().__init__(n_drafts=n_drafts)
        self._width = width
        self._per_node = per_node
        self._crossing = crossing

    def expansion(self, tree: Tree, rng: random.Random, moves: Moves) -> Expand:
        levels = tree.index.levels
        beams = {
            depth: list(islice(filter(moves.alive, levels.each(depth)), self._width)) for depth in sorted(levels)
        }  # fmt: skip

        def expand() -> None:
            open_ones = [
                (moves.n_children(step) // self._per_node, depth, place)
                for depth, beam in beams.items()
                for place, step in enumerate(beam)
                if moves.free(Operator.MUTATE, step)
            ]
            if not open_ones:
                return
            rounds, depth, place = min(open_ones)
            node = tree.node(beams[depth][place])
            others = [tree.node(step) for step in beams[depth] if step != node.step]
            if rng.random() < self._crossing and moves.cross(node, others, f"combine two of the beam at depth {depth}"):
                return
            moves.mutate([node], f"beam at depth {depth}, place {place + 1}, round {rounds + 1}")

        return expand
