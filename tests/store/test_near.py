"""What one campaign finds of others."""

from __future__ import annotations

import pytest

from kernelevolve.errors import UsageError
from kernelevolve.model.events import Closed, Opened
from kernelevolve.model.task import DType
from kernelevolve.queries import best_ancestor, best_everywhere, near_winners, siblings, tree_as_of
from kernelevolve.store.base import Store
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.campaign_samples import small_tree
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_opened, sample_proposed


def opened(name: str, *, family: str = "norm", dtype: DType = "float32", platform: str = "cpu") -> Opened:
    start = sample_opened(name=name)
    task = start.task.model_copy(update={"family": family, "dtype": dtype})
    return start.model_copy(update={"task": task, "facts": start.facts.model_copy(update={"name": platform})})


def campaign(
    store: Store, start: Opened, speedups: dict[int, float], winner: int | None, *, closed: bool = True
) -> str:
    """Candidate `n` reached `speedups[n]`, in that order of steps."""
    found = store.open_campaign(start)
    steps = {}
    for step, (number, speedup) in enumerate(speedups.items(), 1):
        steps[number] = step
        store.append(
            found, [sample_proposed(step, candidate=sample_candidate(number)), sample_judged(step, speedup=speedup)]
        )
    if closed:
        store.append(found, [Closed(winner=steps.get(winner or 0), reason="done", elapsed_s=9.0)])
    return found


def test_winners_of_near_tasks_best_first() -> None:
    store = MemoryStore()
    mine = opened("mine")
    near = campaign(store, opened("near"), {1: 4.0, 2: 9.0, 3: 3.0, 4: 2.0}, winner=1)
    same = campaign(store, mine, {5: 1.5, 1: 1.2}, winner=5)
    campaign(store, opened("open"), {6: 50.0}, winner=None, closed=False)
    campaign(store, opened("other", family="scan"), {7: 50.0}, winner=7)
    campaign(store, opened("half", dtype="float16"), {8: 50.0}, winner=8)
    campaign(store, opened("elsewhere", platform="cuda"), {9: 50.0}, winner=9)
    found = near_winners(store, mine.task, "cpu")
    assert [(each.campaign_id, each.candidate.id) for each in found] == [
        (same, sample_candidate(5).id), (same, sample_candidate(1).id),
        (near, sample_candidate(2).id), (near, sample_candidate(3).id),
    ]  # fmt: skip
    assert [(each.same_task, each.won) for each in found] == [
        (True, True),
        (True, False),
        (False, False),
        (False, False),
    ]
    assert len(near_winners(store, mine.task, "cpu", limit=1)) == 1
    others = near_winners(store, mine.task, "cpu", exclude=(same,))
    assert [(each.candidate.id, each.won) for each in others] == [
        (sample_candidate(1).id, True), (sample_candidate(2).id, False), (sample_candidate(3).id, False),
    ]  # fmt: skip
    assert near_winners(store, mine.task, "fake") == []
    assert near_winners(MemoryStore(), mine.task, "cpu") == []


def test_a_task_without_a_family_is_near_to_itself_only() -> None:
    store = MemoryStore()
    mine = opened("mine", family="")
    campaign(store, opened("other", family=""), {1: 4.0}, winner=1)
    own = campaign(store, mine, {2: 2.0}, winner=2)
    assert [each.campaign_id for each in near_winners(store, mine.task, "cpu")] == [own]


def test_a_winner_is_found_even_below_the_best_nodes() -> None:
    store = MemoryStore()
    near = opened("near")
    campaign(store, near, {1: 1.1, 2: 4.0, 3: 5.0, 4: 6.0, 5: 7.0}, winner=1)
    first = near_winners(store, near.task, "cpu")[0]
    assert (first.step, first.won, first.candidate) == (1, True, sample_candidate(1))


def test_the_best_over_all_campaigns() -> None:
    store = MemoryStore()
    mine = opened("mine")
    one = campaign(store, mine, {1: 2.0, 2: 5.0}, winner=1)
    two = campaign(store, opened("near"), {3: 4.0}, winner=3, closed=False)
    campaign(store, opened("far", family="scan"), {4: 9.0}, winner=4)
    assert [(where, row.step) for where, row in best_everywhere(store, mine.task, "cpu", limit=2)] == [
        (one, 2),
        (two, 1),
    ]


def test_relatives_and_earlier_trees() -> None:
    store = MemoryStore()
    found = store.open_campaign(sample_opened())
    store.append(found, small_tree())
    best = best_ancestor(store, found, 6)
    assert best is not None
    assert best.step == 4
    assert best_ancestor(store, found, 2) is None
    assert [row.step for row in siblings(store, found, 3)] == [4, 5]
    assert [row.step for row in siblings(store, found, 4, limit=1)] == [3]
    assert [row.step for row in siblings(store, found, 1)] == [2]
    before = tree_as_of(store, found, step=3)
    assert (len(before), before.n_usable) == (2, 2)
    assert len(tree_as_of(store, found, seq=2)) == 1
    assert len(tree_as_of(store, found)) == 6
    with pytest.raises(UsageError, match="no step 9"):
        tree_as_of(store, found, step=9)
