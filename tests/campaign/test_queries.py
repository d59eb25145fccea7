from __future__ import annotations

import pytest

from kernelevolve.errors import UsageError
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Confirmed
from kernelevolve.model.verdict import Outcome
from kernelevolve.queries import (
    best_rows,
    best_so_far,
    lineage,
    load_tree,
    node_of_step,
    outcome_counts,
    summarize,
)
from kernelevolve.search.tree import Tree
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
    sample_verdict,
)
from tests.campaign.parts import QUICK, run


def small() -> Tree:
    child = Move(operator=Operator.MUTATE, parents=(2,))
    return Tree(
        [
            sample_opened(),
            *(sample_proposed(step, move=child if step == 4 else None) for step in range(1, 7)),
            sample_judged(1, outcome=Outcome.WRONG),
            sample_judged(2, speedup=2.0),
            sample_judged(3, speedup=1.0),
            sample_judged(4, speedup=4.0),
            sample_judged(5, speedup=4.0, same_as=4),
        ]
    )


def test_counts_add_up_to_the_nodes() -> None:
    assert outcome_counts(small()) == {"correct": 3, "wrong": 1, "duplicate": 1, "pending": 1}


def test_the_curve_has_a_point_where_the_best_rose() -> None:
    assert [(point.step, point.elapsed_s, point.speedup) for point in best_so_far(small())] == [
        (2, 2.5, 2.0), (4, 4.5, 4.0),
    ]  # fmt: skip


def test_nodes_by_step() -> None:
    assert [node.step for node in lineage(small(), 4)] == [2, 4]
    assert node_of_step(small(), 6).pending
    for step in (0, 7):
        with pytest.raises(UsageError, match="no step"):
            lineage(small(), step)


def test_a_summary_names_its_evidence() -> None:
    tree = small()
    summary = summarize("c", tree)
    assert (summary.status, summary.level, summary.best_step, summary.speedup) == ("searching", "screen", 4, 4.0)
    for step, speedup in ((4, 1.5), (2, 1.8)):
        verdict = sample_verdict(sample_candidate(step), speedup=speedup)
        tree.append(Confirmed(step=step, verdict=verdict, elapsed_s=9.0))
    summary = summarize("c", tree)
    assert (summary.status, summary.level, summary.best_step, summary.speedup) == ("finishing", "confirm", 2, 1.8)
    empty = summarize("c", Tree([sample_opened()]))
    assert (empty.level, empty.speedup, empty.n_nodes) == ("none", None, 0)


def test_questions_to_a_store() -> None:
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(QUICK))
    closed, _, _ = run(store=store, campaign=campaign)
    tree = load_tree(store, "latest")
    summary = summarize(campaign, tree)
    assert (summary.status, summary.level, summary.winner) == ("closed", "sealed", closed.winner)
    assert sum(summary.outcomes.values()) == summary.n_nodes == 30
    best = tree.best()
    assert best is not None
    assert best_rows(store, campaign[:4], limit=1)[0].step == best.step
