"""Greedy with drafts: start in several places, then improve the best, and leave it when it stops getting better."""

from __future__ import annotations

import random

from kernelevolve.model.brief import Move
from kernelevolve.search.moves import Moves, n_drafts_missing
from kernelevolve.search.tree import Node, Tree


class GreedyPolicy:
    """`top_k` nodes by lower bound are worked on. After `patience` steps without a new best the search widens:
    drafts and crossings become likely."""

    def __init__(self, *, n_drafts: int = 8, top_k: int = 5, patience: int = 12) -> None:
        self._n_drafts = n_drafts
        self._top_k = top_k
        self._patience = patience

    def ask(self, tree: Tree, rng: random.Random, n: int) -> list[Move]:
        moves = Moves(tree)
        while len(moves.taken) < n:
            best = tree.best()
            if len(moves.taken) < n_drafts_missing(tree, self._n_drafts):
                moves.draft("a first start")
            elif best is None:
                moves.repair_or_draft(tree, rng)
            else:
                self._improve(tree, best, moves, rng)
        return moves.taken

    def _improve(self, tree: Tree, best: Node, moves: Moves, rng: random.Random) -> None:
        since_best = len(tree) - best.step
        stuck = since_best >= self._patience
        top = tree.frontier(self._top_k)
        draw = rng.random()
        if draw < (0.25 if stuck else 0.05):
            moves.draft(f"no new best for {since_best} steps: start anew" if stuck else "an occasional new start")
            return
        second = [node for node in top if node.step != best.step]
        rng.shuffle(second)
        if second and draw < (0.5 if stuck else 0.2) and moves.cross(best, second, "combine the best with another"):
            return
        # Every parent may be busy with the same move already: then widen instead of waiting.
        if not moves.mutate(_best_mostly(top, rng), f"improve one of the best {len(top)}"):
            moves.draft("every good parent is in work")


def _best_mostly(top: list[Node], rng: random.Random) -> list[Node]:
    """The order in which to try parents: each place goes to the best node left with probability 1/2."""
    left, order = list(top), []
    while left:
        index = 0
        while index < len(left) - 1 and rng.random() < 0.5:
            index += 1
        order.append(left.pop(index))
    return order
