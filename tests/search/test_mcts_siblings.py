"""Only some children contend for the highest bound: the choice is the one that a look at every child gives."""

from __future__ import annotations

import random

import pytest

from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.verdict import Outcome
from kernelevolve.search.index import ROOT
from kernelevolve.search.mcts import N_CALLED, _Walk
from kernelevolve.search.moves import Moves
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_opened, sample_proposed

SHARE = 0.7


def family(rng: random.Random) -> Tree:
    """Drafts, many equally good, some failed, some with children that are better or worse than they are."""
    tree = Tree([sample_opened()])
    for step in range(1, 8 * N_CALLED):
        parent = rng.randrange(1, step) if step > 1 and rng.random() < 0.3 else ROOT
        move = Move(operator=Operator.MUTATE, parents=(parent,)) if parent else Move(operator=Operator.DRAFT)
        tree.append(sample_proposed(step, move=move, candidate=sample_candidate(step)))
        failed, speedup = rng.random() < 0.2, 1.0 + rng.randrange(12) / 8
        outcome = Outcome.WRONG if failed else Outcome.CORRECT
        tree.append(sample_judged(step, speedup=speedup, outcome=outcome))
    return tree


def by_a_look_at_all(walk: _Walk, live: list[int], prior_sum: float, scale: float) -> int:
    table = walk.statistics

    def bound(step: int) -> float:
        value = SHARE * table.best[step] + (1 - SHARE) * table.total[step] / table.visits[step]
        return value + scale / prior_sum * (table.own[step] or table.best[step]) / (1 + table.visits[step])

    return max(live, key=lambda step: (round(bound(step), 12), -step))


@pytest.mark.parametrize("seed", range(20))
def test_the_highest_of_the_contenders_is_the_highest_of_all(seed: int) -> None:
    rng = random.Random(seed)
    tree = family(rng)
    walk = _Walk(tree, Moves(tree, "mcts"), rng, share_of_best=SHARE)
    table, below = walk.statistics, walk.siblings(ROOT)
    live = [step for step in tree.index.children[ROOT] if table.best[step]]
    prior_sum = sum(table.own[step] or table.best[step] for step in live)
    scale = rng.uniform(0.0, 20.0)
    while live:
        assert len(below) == len(live)
        highest = below.highest(scale)
        assert highest == by_a_look_at_all(walk, live, prior_sum, scale)
        # Mostly what was chosen goes; sometimes another, which may be one that waits.
        gone = highest if rng.random() < 0.8 else rng.choice(live)
        walk.visit(gone)
        live.remove(gone)
        scale += rng.random()
    assert not below
