"""The moves of one call of `ask`: which are still free, so that no work is ordered twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from kernelevolve.model.brief import Move, Operator
from kernelevolve.search.memory import choose_memory
from kernelevolve.search.tree import Node, Tree

RECENT = 8


class Moves:
    """Collects moves. One that equals a move in flight, or one already taken, is refused; drafts always fit.

    `policy` is written into each move; a portfolio changes it to the member that is choosing."""

    def __init__(self, tree: Tree, policy: str) -> None:
        in_flight = list(tree.in_flight())
        self._tree = tree
        self._busy = {_key(move) for move in in_flight}
        self._lifted = not tree.index.branches.any_alive
        asked = (move for question in tree.open_asks for move in [question.move] * question.n_wanted)
        self._n_new: Counter[int] = Counter(move.parents[0] for move in asked if move.parents)
        self.policy = policy
        self.taken: list[Move] = []

    def alive(self, step: int) -> bool:
        """Not in a dead branch. When nothing else is left the rule is lifted: the budget is there to be used."""
        return self._lifted or not self._tree.index.branches.is_dead(step)

    def living(self) -> Iterator[Node]:
        """Usable nodes of living branches, best first."""
        return (node for node in self._tree.ranked() if self.alive(node.step))

    def top(self, n: int) -> list[Node]:
        """The first `n` of them."""
        return list(islice(self.living(), n))

    def free(self, operator: Operator, *parents: int) -> bool:
        return (operator, tuple(sorted(parents))) not in self._busy

    def n_children(self, step: int) -> int:
        """Along first parents, those in flight and those just taken included."""
        return len(self._tree.index.children[step]) + self._n_new[step]

    def take(self, move: Move) -> bool:
        if move.operator is not Operator.DRAFT and _key(move) in self._busy:
            return False
        self._busy.add(_key(move))
        if move.parents:
            self._n_new[move.parents[0]] += 1
        self.taken.append(move)
        return True

    def draft(self, reason: str, *, language: str = "", avoid: tuple[str, ...] = ()) -> bool:
        move = self._move(Operator.DRAFT, (), reason)
        return self.take(move.model_copy(update={"language": language, "avoid": avoid}))

    def mutate(self, parents: Iterable[Node], reason: str) -> bool:
        """Mutate the first of `parents` that is free."""
        return any(self._take(Operator.MUTATE, (node.step,), reason) for node in parents)

    def cross(self, first: Node, others: Iterable[Node], reason: str) -> bool:
        """Combine `first` with the first of `others` that is another node and free."""
        return any(
            self._take(Operator.CROSS, (first.step, other.step), reason) for other in others if other.step != first.step
        )

    def repair_or_draft(self, rng: random.Random) -> None:
        """While nothing is correct: half of the time mend one of the latest failures, else start anew."""
        recent = self._tree.nodes[-RECENT:]
        failed = [node for node in recent if not node.pending and not node.usable and node.same_as is None]
        failed = shuffled(rng, [node for node in failed if not self._tree.index.branches.is_dead(node.step)])
        if not (rng.random() < 0.5 and self.mutate(failed, "nothing is correct yet: mend a recent failure")):
            self.draft("nothing is correct yet")

    def _take(self, operator: Operator, parents: tuple[int, ...], reason: str) -> bool:
        return self.free(operator, *parents) and self.take(self._move(operator, parents, reason))

    def _move(self, operator: Operator, parents: tuple[int, ...], reason: str) -> Move:
        memory = choose_memory(self._tree, operator, parents)
        return Move(operator=operator, parents=parents, memory=memory, reason=reason, policy=self.policy)


def _key(move: Move) -> tuple[Operator, tuple[int, ...]]:
    """Crossing a with b is crossing b with a."""
    return move.operator, tuple(sorted(move.parents))


def best_mostly(top: list[Node], rng: random.Random) -> list[Node]:
    """The order in which to try parents: each place goes to the best node left with probability 1/2."""
    left, order = list(top), []
    while left:
        index = 0
        while index < len(left) - 1 and rng.random() < 0.5:
            index += 1
        order.append(left.pop(index))
    return order


def shuffled(rng: random.Random, nodes: list[Node]) -> list[Node]:
    return rng.sample(nodes, len(nodes))
