"""Tree search by upper confidence bounds (UCT), on ranks instead of raw scores."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from kernelevolve.model.brief import Move
from kernelevolve.search.moves import Moves, n_drafts_missing
from kernelevolve.search.tree import Node, Tree

ROOT = 0


@dataclass(kw_only=True)
class Statistics:
    """Of a node and everything below it along first parents. A failure, a repeat and a pending node are visits
    without reward; for a pending one that is the virtual loss that sends the next look elsewhere."""

    visits: int = 0
    total: float = 0.0
    best: float = 0.0

    def value(self, share_of_best: float) -> float:
        mean = self.total / self.visits if self.visits else 0.0
        return share_of_best * self.best + (1.0 - share_of_best) * mean


class UctPolicy:
    """From the root (whose children are the drafts) walk down by upper confidence bound, and stop at a node that may
    still get children: at most `widening * visits**0.5` of them (progressive widening). Rewards are ranks in (0, 1].

    `share_of_best` weighs the best reward below a node against the mean: one good descendant is what counts, the mean
    steadies it. Within one call a lineage (ancestors and descendants) is worked on once. The last third of the
    campaign's candidates goes mostly to the best nodes wherever they are: what is explored then cannot be followed up.
    """

    def __init__(
        self, *, n_drafts: int = 8, exploration: float = 0.2, widening: float = 1.0, share_of_best: float = 0.7
    ) -> None:
        self._n_drafts = n_drafts
        self._exploration = exploration
        self._widening = widening
        self._share_of_best = share_of_best

    def ask(self, tree: Tree, rng: random.Random, n: int) -> list[Move]:
        moves = Moves(tree)
        table = self.statistics(tree)
        blocked: set[int] = set()
        while len(moves.taken) < n:
            if len(moves.taken) < n_drafts_missing(tree, self._n_drafts):
                moves.draft("a first start")
            elif not tree.n_usable:
                moves.repair_or_draft(tree, rng)
            else:
                late = _late_choice(tree, blocked, rng)
                step = late or self._select(tree, table, blocked, rng)
                if step == ROOT or not self._expand(tree, tree.node(step), moves, rng):
                    moves.draft("the root is due for another start")
                    table[ROOT].visits += 1
                    continue
                blocked |= _family(tree, step)
                for node in tree.lineage(step):
                    table[node.step].visits += 1
                table[ROOT].visits += 1
        return moves.taken

    def statistics(self, tree: Tree) -> dict[int, Statistics]:
        """By step, ROOT for the whole tree. Every number is finite, whatever the scores."""
        table = {step: Statistics() for step in range(len(tree) + 1)}
        for node in reversed(tree.nodes):  # a child always has a higher step than its parents
            own = table[node.step]
            reward = tree.rank(node) if node.usable else 0.0
            own.visits += 1
            own.total += reward
            own.best = max(own.best, reward)
            parent = table[node.move.parents[0] if node.move.parents else ROOT]
            parent.visits += own.visits
            parent.total += own.total
            parent.best = max(parent.best, own.best)
        return table

    def _select(self, tree: Tree, table: dict[int, Statistics], blocked: set[int], rng: random.Random) -> int:
        """The step to expand, ROOT for a draft. A failure is a leaf; a blocked node is passed through, not expanded."""
        reachable = _reachable(tree, blocked)
        step = ROOT
        while True:
            children = _children(tree, step)
            open_ones = [child for child in children if child in reachable]
            may_widen = len(children) < self._widening * math.sqrt(table[step].visits)
            if step == ROOT:
                stops = may_widen and rng.random() < 1.0 / (1 + len(open_ones))
            else:
                stops = may_widen and step not in blocked
            if stops or not open_ones:
                return step
            log_visits = math.log(table[step].visits + 1)
            order = [(self._bound(table[child], log_visits), rng.random(), child) for child in open_ones]
            step = max(order)[2]

    def _bound(self, statistics: Statistics, log_visits: float) -> float:
        explore = self._exploration * math.sqrt(log_visits / max(1, statistics.visits))
        return statistics.value(self._share_of_best) + explore

    def _expand(self, tree: Tree, node: Node, moves: Moves, rng: random.Random) -> bool:
        if rng.random() < 0.15:
            family = _family(tree, node.step)
            strangers = [other for other in tree.frontier(8) if other.step not in family]
            if moves.cross(node, strangers, "combine two lineages"):
                return True
        return moves.mutate([node], f"highest upper bound: step {node.step}")


def _late_choice(tree: Tree, blocked: set[int], rng: random.Random) -> int | None:
    """Late in a campaign, four times out of five: one of the best nodes."""
    limit = tree.opened.settings.max_candidates if tree.opened else 0
    best = [node.step for node in tree.frontier(5) if node.step not in blocked]
    if not best or 3 * len(tree) < 2 * limit or rng.random() < 0.2:
        return None
    return best[min(len(best) - 1, int(rng.expovariate(0.7)))]


def _children(tree: Tree, step: int) -> list[int]:
    """Along first parents."""
    if step == ROOT:
        return [node.step for node in tree.nodes if not node.move.parents]
    return [child for child in tree.children(step) if tree.node(child).move.parents[0] == step]


def _reachable(tree: Tree, blocked: set[int]) -> set[int]:
    """Steps at or below which there is a usable node that is not blocked."""
    reachable: set[int] = set()
    for node in reversed(tree.nodes):
        if node.usable and (node.step in reachable or node.step not in blocked):
            reachable.add(node.step)
            if node.move.parents:
                reachable.add(node.move.parents[0])
    return reachable


def _family(tree: Tree, step: int) -> set[int]:
    """Ancestors and descendants of `step` along first parents, itself included."""
    family = {node.step for node in tree.lineage(step)}
    stack = [step]
    while stack:
        family.add(top := stack.pop())
        stack.extend(_children(tree, top))
    return family
