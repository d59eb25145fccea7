"""Which earlier attempts a brief shows: what the move's memory selects from the tree. Pure.

| memory | parent | lineage | siblings | the best elsewhere, failures close by |
|---|---|---|---|---|
| clean | | | | |
| lineage | x | x | | x |
| siblings | x | | x | x |
| both | x | x | x | x |
| fuse | both | of both | | x |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelevolve.model.brief import Memory, Move, Role
from kernelevolve.search.tree import Node, Tree

WITH_LINEAGE = (Memory.LINEAGE, Memory.BOTH, Memory.FUSE)
LOOK = 50
"""The highest estimate is looked for among so many of the best."""
WITH_SIBLINGS = (Memory.SIBLINGS, Memory.BOTH)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The most that a brief shows of each kind."""

    n_lineage: int = 8  # the nearest ancestors, of each parent
    n_siblings: int = 8  # half of them the best, the rest the latest of the others
    n_best: int = 1  # by the search's ranking; the one with the highest estimate comes on top where it is another
    n_failures: int = 4
    n_notes: int = 8
    n_knowledge: int = 4


@dataclass(frozen=True, kw_only=True)
class Choice:
    node: Node
    role: Role
    why: str = ""  # of the best elsewhere: by what it is the best


def remembered(tree: Tree, move: Move, counts: Counts) -> list[Choice]:
    """Each node once, in the role that comes first here; ancestors from the root down."""
    if move.memory is Memory.CLEAN:
        return []
    chosen: dict[int, Choice] = {}

    def take(nodes: Iterable[Node], role: Role, why: str = "") -> None:
        for node in nodes:
            if not node.pending and node.step not in chosen:
                chosen[node.step] = Choice(node=node, role=role, why=why)

    parents = [tree.node(step) for step in move.parents]
    ancestors = [tree.lineage(parent.step)[:-1] for parent in parents]
    for number, (parent, line) in enumerate(zip(parents, ancestors, strict=True)):
        if move.memory in WITH_LINEAGE:
            take(_last(line, counts.n_lineage), Role.OTHER_LINEAGE if number else Role.LINEAGE)
        take([parent], Role.PARENT)
    if move.memory in WITH_SIBLINGS:
        take(_siblings(tree, move, counts.n_siblings), Role.SIBLING)
    elsewhere = [node for node in tree.frontier(LOOK + len(chosen)) if node.step not in chosen]
    take(elsewhere[: counts.n_best], Role.BEST, f"ranks first by {_ranked_by(tree)}")
    if counts.n_best:
        take(_highest(elsewhere[:LOOK]), Role.BEST, "the highest estimate, which is no proof")
    known = set(chosen)
    take(_failures(tree, parents, ancestors, known, counts.n_failures), Role.FAILURE)
    return list(chosen.values())


def _ranked_by(tree: Tree) -> str:
    names = [objective.name for objective in tree.ruler.objectives]
    return " and ".join("the lower end of its interval" if name == "speedup" else name for name in names)


def _highest(nodes: list[Node]) -> list[Node]:
    """The one with the highest speed-up, of equals the first."""
    timed = [(node.verdict.timing.speedup, node) for node in nodes if node.verdict and node.verdict.timing]
    return [max(timed, key=lambda pair: pair[0])[1]] if timed else []


def _last(nodes: list[Node], n: int) -> list[Node]:
    return nodes[-n:] if n else []


def _siblings(tree: Tree, move: Move, n: int) -> list[Node]:
    """Judged children of the parents: the best first, then the latest of the others."""
    steps = sorted({child for parent in move.parents for child in tree.children(parent)} - set(move.parents))
    nodes = [node for node in map(tree.node, steps) if not node.pending and node.same_as is None]
    usable = sorted(
        (node for node in nodes if node.score is not None), key=lambda node: (-(node.score or 0), node.step)
    )
    best = usable[: (n + 1) // 2]
    others = [node for node in reversed(nodes) if node not in best]
    return best + others[: n - len(best)]


def _failures(tree: Tree, parents: list[Node], ancestors: list[list[Node]], known: set[int], n: int) -> list[Node]:
    """The latest failed children of the parents and of their ancestors, nearest line first; of a draft, the
    campaign's latest."""
    found: dict[int, Node] = {}
    lines = [[*line, parent] for line, parent in zip(ancestors, parents, strict=True)]
    near = [child for line in lines for node in reversed(line) for child in reversed(tree.children(node.step))]
    for step in near if parents else range(len(tree), 0, -1):
        node = tree.node(step)
        if len(found) >= n:
            break
        if node.verdict is not None and not node.verdict.correct and node.same_as is None and step not in known:
            found[step] = node
    return list(found.values())
