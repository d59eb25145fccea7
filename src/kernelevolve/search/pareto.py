"""The front of a tree under several objectives."""

from __future__ import annotations

from collections.abc import Sequence

from kernelevolve.search.dominance import depths
from kernelevolve.search.fitness import Ruler, fitnesses
from kernelevolve.search.tree import Node, Tree


def front(tree: Tree, names: Sequence[str]) -> list[Node]:
    """The usable nodes that no other beats in every one of the named fitnesses, by step. What was not measured is
    worse than anything that was. Raises UnknownNameError."""
    ruler = Ruler(objectives=fitnesses(tuple(names)))
    nodes = [node for node in tree.nodes if node.usable]
    points = [ruler.point(node.verdict) for node in nodes if node.verdict is not None]
    return [node for node, depth in zip(nodes, depths(points), strict=True) if depth == 0]
