"""Islands with an archive: what is bred is the best of each kind of kernel, not only the best of all."""

from __future__ import annotations

import random

from kernelevolve.search.descriptors import Cell, family_of
from kernelevolve.search.moves import Moves, best_mostly, shuffled
from kernelevolve.search.phases import Expand, PhasedPolicy
from kernelevolve.search.tree import Node, Tree

Island = list[tuple[Cell, list[Node]]]
"""Its cells, the one with the best elite first, each with its best nodes."""


class IslandsPolicy(PhasedPolicy):
    """A cell of the archive is a language and measured traits of a kernel; its best `elites` living nodes are parents.
    Islands are languages, or families of algorithms while there is one language. Every island has its turn as
    often as the others; within one the better cells mostly. Crossings are between different cells, every second
    time between islands."""

    name = "islands"

    def __init__(self, *, n_drafts: int = 8, elites: int = 2, crossing: float = 0.25, n_cells: int = 64) -> None:
        super().__init__(n_drafts=n_drafts)
        self._elites = elites
        self._crossing = crossing
        self._n_cells = n_cells

    def expansion(self, tree: Tree, rng: random.Random, moves: Moves) -> Expand:
        islands = list(self.islands(tree, moves).values())

        def expand() -> None:
            for island in _in_any_order(rng, islands):
                cell, elites = _mostly_the_first(island, rng)
                crossing = rng.random() < self._crossing
                others = _of_other_cells(cell, island, islands, rng) if crossing else []
                if moves.cross(elites[0], others, "combine two cells of the archive"):
                    return
                if moves.mutate(best_mostly(elites, rng), f"an elite of {_name(cell)}"):
                    return
                if moves.mutate([node for _, more in island for node in more], f"an elite beside {_name(cell)}"):
                    return

        return expand

    def islands(self, tree: Tree, moves: Moves) -> dict[str, Island]:
        """The `n_cells` cells with the best elites: names of families are not ours, and may be one per candidate."""
        cells: Island = []
        for cell in tree.index.cells:
            elites = [tree.node(step) for step in tree.index.cells.top(cell, self._elites) if moves.alive(step)]
            if elites:
                cells.append((cell, elites))
        cells.sort(key=lambda item: (-(item[1][0].score or 0.0), item[1][0].step))
        del cells[self._n_cells :]
        many_languages = len({cell.language for cell, _ in cells}) > 1
        found: dict[str, Island] = {}
        for cell, elites in cells:
            name = cell.language if many_languages else family_of(elites[0].candidate)
            found.setdefault(name, []).append((cell, elites))
        return found


def _in_any_order(rng: random.Random, islands: list[Island]) -> list[Island]:
    return rng.sample(islands, len(islands))


def _mostly_the_first(island: Island, rng: random.Random) -> tuple[Cell, list[Node]]:
    index = 0
    while index < len(island) - 1 and rng.random() < 0.5:
        index += 1
    return island[index]


def _of_other_cells(cell: Cell, island: Island, islands: list[Island], rng: random.Random) -> list[Node]:
    """Elites of other cells: of another island first every second time, or where this one has no other cell."""
    near = [elites[0] for other, elites in island if other != cell]
    far = [elites[0] for place in islands if place is not island for _, elites in place]
    first, second = (shuffled(rng, far), near) if rng.random() < 0.5 else (near, shuffled(rng, far))
    return first + second


def _name(cell: Cell) -> str:
    return " ".join(filter(None, (cell.language, *cell.traits, cell.family)))
