"""Ways out of a stall, in turn: start anew, in another language, with another family of algorithms; fuse two lines."""

from __future__ import annotations

import random

from kernelevolve.search.moves import Moves
from kernelevolve.search.stall import is_stalled, stalled_for
from kernelevolve.search.tree import Tree
from kernelevolve.toolchains import languages_for

EVERY = 3
"""One move in so many is a way out; the others go on with the policy's own search."""
N_TOP, MAX_AVOID = 3, 8


def escape(tree: Tree, moves: Moves, rng: random.Random) -> bool:
    """Take one such move when one is due. Whose turn it is follows from how long the stall lasts. Whether one is due
    is drawn, so that a move that nobody can serve is not asked for again and again."""
    if not is_stalled(tree) or rng.randrange(EVERY):
        return False
    turn = (stalled_for(tree) + len(moves.taken)) // EVERY % len(KINDS)
    return any(kind(tree, moves) for kind in KINDS[turn:] + KINDS[:turn])


def restart(tree: Tree, moves: Moves) -> bool:
    return moves.draft(f"{_since(tree)}: start anew")


def other_language(tree: Tree, moves: Moves) -> bool:
    """The language least tried among those of this platform and those seen so far, the best node's own left out."""
    best = tree.best()
    kind = tree.opened.facts.kind if tree.opened else ""
    own = best.candidate.language if best else ""
    tried = tree.index.n_of_language
    known = {*languages_for(kind), *tried}
    wishes = sorted(known - {own}, key=lambda language: (tried.get(language, 0), language))
    return bool(wishes) and moves.draft(f"{_since(tree)}: another language", language=wishes[0])


def other_family(tree: Tree, moves: Moves) -> bool:
    """Away from the recipes of the best lineages."""
    lines = [node for top in tree.frontier(N_TOP) for node in reversed(tree.lineage(top.step)[-MAX_AVOID:])]
    recipes = dict.fromkeys(node.candidate.origin.recipe for node in lines if node.candidate.origin.recipe)
    avoid = tuple(recipes)[:MAX_AVOID]
    return bool(avoid) and moves.draft(f"{_since(tree)}: another family of algorithms", avoid=avoid)


def fusion(tree: Tree, moves: Moves) -> bool:
    """The two best branches that were not combined yet."""
    head = tree.index.branches.head
    top = moves.top(2 * MAX_AVOID)
    tried = {frozenset(tree.node(child).move.parents) for node in top[:N_TOP] for child in tree.children(node.step)}
    return any(
        moves.cross(first, [other], f"{_since(tree)}: fuse two lines")
        for first in top[:N_TOP]
        for other in top
        if head[first.step] != head[other.step] and frozenset((first.step, other.step)) not in tried
    )


KINDS = (restart, other_language, other_family, fusion)


def _since(tree: Tree) -> str:
    return f"no new best for {tree.stall} attempts"
