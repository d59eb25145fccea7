from __future__ import annotations

import time

import pytest

from kernelevolve.errors import RecordError
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Closed, Confirmed, Diagnosed, Event, Judged, Proposed, Sealed
from kernelevolve.model.verdict import Outcome
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
    sample_verdict,
)


def mutate(*parents: int) -> Move:
    return Move(operator=Operator.MUTATE if len(parents) == 1 else Operator.CROSS, parents=parents)


def small() -> Tree:
    return Tree(
        [
            sample_opened(),
            sample_proposed(1),
            sample_judged(1, speedup=2.0),
            sample_proposed(2, move=mutate(1)),
            sample_judged(2, outcome=Outcome.WRONG),
            sample_proposed(3, move=mutate(1)),
            sample_judged(3, speedup=3.0),
            sample_proposed(4, move=mutate(3, 1), candidate=sample_candidate(3)),
            sample_judged(4, speedup=3.0, same_as=3),
            sample_proposed(5, move=mutate(3)),
        ]
    )


def test_folds_events_into_nodes() -> None:
    tree = small()
    assert len(tree) == 5
    assert [node.step for node in tree.frontier()] == [3, 1]
    best = tree.best()
    assert best is not None
    assert best.step == 3
    assert tree.children(1) == [2, 3, 4]
    assert tree.children(3) == [4, 5]
    assert [node.step for node in tree.lineage(5)] == [1, 3, 5]
    assert [node.step for node in tree.pending] == [5]
    assert tree.elapsed_s == 5.0


def test_repeats_and_failures_are_no_parents() -> None:
    tree = small()
    assert [node.usable for node in tree.nodes] == [True, False, True, False, False]
    first = tree.first_of(sample_candidate(3).id)
    assert first is not None
    assert first.step == 3
    assert tree.first_of("unknown") is None


def test_ranks_are_shares_and_equal_scores_share_one() -> None:
    tree = Tree([sample_opened()])
    for step, speedup in enumerate([1.0, 2.0, 2.0, 4.0], start=1):
        tree.append(sample_proposed(step))
        tree.append(sample_judged(step, speedup=speedup))
    assert [tree.rank(node) for node in tree.nodes] == [0.25, 0.75, 0.75, 1.0]


def test_keeps_what_comes_after_the_search() -> None:
    tree = small()
    verdict = sample_verdict(sample_candidate(3))
    tree.append(Diagnosed(step=3, diagnosis=Diagnosis(bottleneck=Bottleneck.MEMORY)))
    tree.append(Confirmed(step=3, verdict=verdict, elapsed_s=9.0))
    tree.append(Sealed(step=3, verdict=verdict, elapsed_s=10.0))
    tree.append(Closed(winner=3, reason="done", elapsed_s=11.0))
    diagnosis = tree.node(3).diagnosis
    assert diagnosis is not None
    assert diagnosis.bottleneck is Bottleneck.MEMORY
    assert tree.confirmed == {3: verdict}
    assert tree.sealed is not None
    assert tree.closed is not None
    assert tree.elapsed_s == 11.0


@pytest.mark.parametrize(
    "event",
    [
        sample_proposed(7),
        sample_proposed(5),
        sample_proposed(6, move=mutate(6)),
        sample_judged(1),
        sample_judged(9),
        Diagnosed(step=9, diagnosis=Diagnosis(bottleneck=Bottleneck.MEMORY)),
    ],
)
def test_events_that_do_not_fit_are_refused(event: Event) -> None:
    with pytest.raises(RecordError):
        small().append(event)


def test_folds_ten_thousand_events_fast() -> None:
    events: list[Event] = [sample_opened()]
    verdict = sample_verdict(sample_candidate(0))
    assert verdict.timing is not None
    for step in range(1, 5001):
        move = Move(operator=Operator.MUTATE, parents=(step // 2,)) if step > 1 else Move(operator=Operator.DRAFT)
        timing = verdict.timing.model_copy(update={"low": 1.0 + (step * 7919 % 5003) / 5003})
        events.append(Proposed(step=step, move=move, candidate=sample_candidate(step), elapsed_s=step))
        events.append(Judged(step=step, verdict=verdict.model_copy(update={"timing": timing}), elapsed_s=step))
    started = time.perf_counter()
    tree = Tree(events)
    assert time.perf_counter() - started < 2.0  # 0.15 s on an idle machine
    assert tree.n_usable == 5000
    lows = [node.verdict.timing.low for node in tree.frontier() if node.verdict and node.verdict.timing]
    assert lows == sorted(lows, reverse=True)
