"""The moves of one call of `ask`: which are still free, so that no work is ordered twice."""

from __future__ import annotations

import random
from collections.abc import Iterable

from kernelevolve.model.brief import Move, Operator
from kernelevolve.search.tree import Node, Tree


class Moves:
    """Collects moves. One that equals a move in flight, or one already taken, is refused; drafts always fit."""

    def __init__(self, tree: Tree) -> None:
        self._busy = {_key(node.move) for node in tree.pending}
        self.taken: list[Move] = []

    def take(self, move: Move) -> bool:
        if move.operator is not Operator.DRAFT and _key(move) in self._busy:
            return False
        self._busy.add(_key(move))
        self.taken.append(move)
        return True

    def draft(self, reason: str) -> None:
        self.take(Move(operator=Operator.DRAFT, reason=reason))

    def mutate(self, parents: Iterable[Node], reason: str) -> bool:
        """Mutate the first of `parents` that is free."""
        return any(self.take(Move(operator=Operator.MUTATE, parents=(node.step,), reason=reason)) for node in parents)

    def cross(self, first: Node, others: Iterable[Node], reason: str) -> bool:
        """Combine `first` with the first of `others` that is another node and free."""
        return any(
            self.take(Move(operator=Operator.CROSS, parents=(first.step, other.step), reason=reason))
            for other in others
            if other.step != first.step
        )

    def repair_or_draft(self, tree: Tree, rng: random.Random) -> None:
        """While nothing is correct: half of the time mend one of the latest failures, else start anew."""
        failed = [node for node in tree.nodes[-8:] if not node.pending and not node.usable and node.same_as is None]
        rng.shuffle(failed)
        if not (rng.random() < 0.5 and self.mutate(failed, "nothing is correct yet: mend a recent failure")):
            self.draft("nothing is correct yet")


def _key(move: Move) -> tuple[Operator, tuple[int, ...]]:
    """Crossing a with b is crossing b with a."""
    return move.operator, tuple(sorted(move.parents))


def n_drafts_missing(tree: Tree, n_drafts: int) -> int:
    """Only the first `n_drafts` steps count: later drafts are restarts."""
    return max(0, n_drafts - len(tree))


def shuffled(rng: random.Random, nodes: list[Node]) -> list[Node]:
    return rng.sample(nodes, len(nodes))
