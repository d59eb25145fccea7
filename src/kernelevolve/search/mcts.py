"""Monte-Carlo tree search without rollouts: the judge's verdict is the rollout. Only ranks count, never raw scores."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest

from kernelevolve.model.brief import Operator
from kernelevolve.search.index import ROOT
from kernelevolve.search.moves import Moves, best_mostly
from kernelevolve.search.phases import Expand, PhasedPolicy
from kernelevolve.search.stall import used_share
from kernelevolve.search.tree import Node, Tree

LATE = 0.7
N_BEST = 5
N_CALLED = 16
"""How many children that nobody went on from contend at a time; a call closes one with each move."""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Of each node and everything below it along first parents, by step, `ROOT` for the whole tree. A failure, a
    repeat, a pending node and an open question are visits without reward; for the last two that is the virtual
    loss that sends the next look elsewhere. A repeat is also a visit of the node it repeats."""

    visits: list[int]
    total: list[float]
    best: list[float]
    own: list[float]

    def values(self, steps: Sequence[int], share_of_best: float) -> list[float]:
        """A node has a visit at least, its own."""
        rest, best, total, visits = 1.0 - share_of_best, self.best, self.total, self.visits
        return [share_of_best * best[step] + rest * total[step] / visits[step] for step in steps]

    def numbers(self) -> Iterator[float]:
        yield from (*self.visits, *self.total, *self.best, *self.own)
        yield from self.values(range(1, len(self.visits)), 0.7)


def statistics(tree: Tree) -> Statistics:
    """One pass, a few flat lists: fast enough for 50,000 nodes at every ask."""
    own = list(tree.ranks())
    total, best, parents = own[:], own[:], tree.index.parent
    visits = [1] * len(own)
    visits[ROOT] = 0
    for asked in tree.open_asks:
        visits[asked.move.parents[0] if asked.move.parents else ROOT] += asked.n_wanted
    for step in range(len(own) - 1, ROOT, -1):  # a child always has a higher step than its parents
        parent = parents[step]
        visits[parent] += visits[step]
        highest = best[step]
        if highest:
            total[parent] += total[step]
            if highest > best[parent]:
                best[parent] = highest
    for original, repeats in tree.index.repeats.items():
        visits[original] += len(repeats)
    return Statistics(visits=visits, total=total, best=best, own=own)


class MctsPolicy(PhasedPolicy):
    """From the root, whose children are the drafts, walk down by `value + bound` and stop at a node that may still get
    children: fewer than `widening * visits**growth` of them (progressive widening).

    value: `share_of_best` of the best rank below a node, the rest of the mean: one good descendant is what counts, the
    mean steadies it. bound: `exploration * prior * sqrt(visits of the parent) / (1 + visits)`, the prior being a
    node's own rank among its siblings; `exploration` falls to a quarter of itself towards the end. Within one
    call a lineage (ancestors and descendants) is worked on once. From 70 % of the budget on most moves go to the
    best nodes wherever they are: what is explored then cannot be followed up.
    """

    name = "mcts"

    def __init__(
        self, *, n_drafts: int = 8, exploration: float = 1.0, widening: float = 1.0, growth: float = 0.5,
        share_of_best: float = 0.7,
    ) -> None:  # fmt: skip
        super().__init__(n_drafts=n_drafts)
        self._exploration = exploration
        self._widening = widening
        self._growth = growth
        self._share_of_best = share_of_best

    def expansion(self, tree: Tree, rng: random.Random, moves: Moves) -> Expand:
        walk = _Walk(tree, moves, rng, share_of_best=self._share_of_best)
        used = used_share(tree)
        exploration = self._exploration * (1.0 - 0.75 * used)

        def expand() -> None:
            step = walk.late_choice() if used >= LATE and rng.random() < 0.8 else None
            step = self._select(walk, exploration) if step is None else step
            if step == ROOT:
                moves.draft("the root is due for another start")
            elif not _expand(tree.node(step), moves, rng, tree):
                return
            walk.visit(step)

        return expand

    def _select(self, walk: _Walk, exploration: float) -> int:
        """The step to expand, ROOT for a draft. A node that may not be expanded is passed through; where nothing below
        it may be either, the walk goes back up."""
        step = ROOT
        while True:
            below = walk.siblings(step)
            room = self._widening * float(walk.statistics.visits[step]) ** self._growth
            may_widen = walk.moves.n_children(step) < room
            if step == ROOT:
                stops = not below or (may_widen and walk.rng.random() < 1.0 / (1 + len(below)))
            else:
                stops = walk.may_expand(step) and (may_widen or not below)
            if stops:
                return step
            visits = walk.statistics.visits[step]
            step = below.highest(exploration * math.sqrt(visits)) if below else walk.close(step)


class _Siblings:
    """The children of a node at or below which something usable is left. Most calls change one of them, and there may
    be thousands: nothing is worked out again that did not change. The bound of a child that nobody went on from grows
    with its rank alone, so of those only the highest contend; the others wait."""

    def __init__(self, walk: _Walk, parent: int) -> None:
        self._walk = walk
        own, best, visits = walk.statistics.own, walk.statistics.best, walk.statistics.visits
        live = [child for child in walk.tree.index.children[parent] if best[child] and child not in walk.closed]
        self._sum = sum([own[child] or best[child] for child in live])
        self._n_live = len(live)
        self._waiting = [child for child in live if visits[child] == 1]
        self._contend([child for child in live if visits[child] > 1])
        self._call()

    def __len__(self) -> int:
        return self._n_live

    def highest(self, scale: float) -> int:
        """The child with the highest bound, of equals the earliest."""
        scale /= self._sum
        bounds = [value + scale * pull for value, pull in zip(self._values, self._pulls, strict=True)]
        return self._steps[bounds.index(max(bounds))]

    def visited(self, child: int) -> None:
        place = self._place(child)
        if place is not None:
            table = self._walk.statistics
            self._values[place] = table.values([child], self._walk.share_of_best)[0]
            self._pulls[place] = self._priors[place] / (1 + table.visits[child])

    def close(self, child: int) -> None:
        """Once per child, which the walk has noted as closed."""
        self._n_live -= bool(self._walk.statistics.best[child])
        place = self._place(child)
        if place is not None:
            for part in (self._steps, self._priors, self._values, self._pulls):
                del part[place]
            self._called.discard(child)
            if not self._called:
                self._call()

    def _call(self) -> None:
        """Lets the highest of those that wait contend."""
        waiting = [child for child in self._waiting if child not in self._walk.closed]
        called = nlargest(N_CALLED, waiting, key=self._walk.statistics.own.__getitem__)
        self._called = set(called)
        self._waiting = [child for child in waiting if child not in self._called] if called else []
        if called:
            self._contend(sorted([*self._steps, *called]))

    def _contend(self, steps: list[int]) -> None:
        table = self._walk.statistics
        self._steps = steps
        self._priors = [table.own[child] or table.best[child] for child in steps]
        self._values = table.values(steps, self._walk.share_of_best)
        self._pulls = [prior / (1 + table.visits[child]) for prior, child in zip(self._priors, steps, strict=True)]

    def _place(self, child: int) -> int | None:
        place = bisect_left(self._steps, child)
        return place if place < len(self._steps) and self._steps[place] == child else None


class _Walk:
    """What one call of `ask` knows: the statistics, and which lineages it has already put to work."""

    def __init__(self, tree: Tree, moves: Moves, rng: random.Random, *, share_of_best: float) -> None:
        self.tree = tree
        self.moves = moves
        self.rng = rng
        self.share_of_best = share_of_best
        self.statistics = statistics(tree)
        self.closed: set[int] = set()  # with everything below
        self._ancestors: set[int] = set()
        self._siblings: dict[int, _Siblings] = {}

    def siblings(self, parent: int) -> _Siblings:
        if parent not in self._siblings:
            self._siblings[parent] = _Siblings(self, parent)
        return self._siblings[parent]

    def close(self, step: int) -> int:
        """Nothing at or below the step is gone on from any more in this call. Returns its parent."""
        parent = self.tree.index.parent[step]
        if step not in self.closed:
            self.closed.add(step)
            if parent in self._siblings:
                self._siblings[parent].close(step)
        return parent

    def may_expand(self, step: int) -> bool:
        return (
            self.tree.index.usable[step]
            and step not in self._ancestors
            and self.moves.alive(step)
            and self.moves.free(Operator.MUTATE, step)
        )

    def late_choice(self) -> int | None:
        """One of the best nodes, the best mostly."""
        fitting = [
            node for node in self.moves.top(N_BEST) if self.may_expand(node.step) and not self._is_closed(node.step)
        ]
        return best_mostly(fitting, self.rng)[0].step if fitting else None

    def visit(self, step: int) -> None:
        """A virtual loss all the way up; the whole lineage is not worked on again in this call."""
        if step != ROOT:
            self.close(step)
        while step != ROOT:
            self.statistics.visits[step] += 1
            self._ancestors.add(step)
            parent = self.tree.index.parent[step]
            if parent in self._siblings:
                self._siblings[parent].visited(step)
            step = parent
        self.statistics.visits[ROOT] += 1

    def _is_closed(self, step: int) -> bool:
        return any(self.tree.index.is_below(step, closed) for closed in self.closed)


def _expand(node: Node, moves: Moves, rng: random.Random, tree: Tree) -> bool:
    below = tree.index.is_below
    if rng.random() < 0.15:
        strangers = [
            other for other in moves.top(8) if not below(other.step, node.step) and not below(node.step, other.step)
        ]
        if moves.cross(node, strangers, "combine two lineages"):
            return True
    return moves.mutate([node], f"highest upper bound: step {node.step}")
