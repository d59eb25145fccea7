from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from kernelevolve.errors import UnknownNameError
from kernelevolve.model.brief import Operator
from kernelevolve.model.events import Settings
from kernelevolve.model.verdict import Outcome
from kernelevolve.search import POLICIES, make_policy
from kernelevolve.search.base import Policy
from kernelevolve.search.greedy import GreedyPolicy
from kernelevolve.search.random import RandomPolicy
from kernelevolve.search.tree import Tree
from kernelevolve.search.uct import ROOT, UctPolicy
from kernelevolve.testing.policy_case import FAILED, PENDING, PolicyCase, make_tree
from kernelevolve.testing.samples import sample_judged, sample_opened, sample_proposed


class TestGreedyPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return GreedyPolicy(n_drafts=4)


class TestRandomPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return RandomPolicy(n_drafts=4)


class TestUctPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return UctPolicy(n_drafts=4)

    def statistics(self, policy: Policy, tree: Tree) -> Iterable[float]:
        assert isinstance(policy, UctPolicy)
        for statistics in policy.statistics(tree).values():
            yield from (statistics.visits, statistics.total, statistics.best, statistics.value(0.7))


@pytest.mark.parametrize("name", POLICIES)
def test_the_settings_reach_every_policy(name: str) -> None:
    policy = make_policy(name, Settings(n_drafts=3))
    moves = policy.ask(make_tree([1.0]), random.Random(0), 3)
    assert [move.operator for move in moves[:2]] == [Operator.DRAFT] * 2
    later = [policy.ask(make_tree([1.0] * 3), random.Random(seed), 1)[0].operator for seed in range(30)]
    assert Operator.MUTATE in later


def test_an_unknown_policy_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="greedy, random, uct"):
        make_policy("genius", Settings())


def parents_chosen(policy: Policy, tree: Tree, n_asks: int = 400) -> dict[int, int]:
    counts: dict[int, int] = {}
    for seed in range(n_asks):
        for move in policy.ask(tree, random.Random(seed), 1):
            for parent in move.parents:
                counts[parent] = counts.get(parent, 0) + 1
    return counts


@pytest.mark.parametrize("policy", [GreedyPolicy(n_drafts=2), UctPolicy(n_drafts=2)])
def test_works_mostly_on_the_best(policy: Policy) -> None:
    tree = Tree([sample_opened()])
    for step, speedup in enumerate([1.0, 1.2, 3.0, 0.5, 0.0, 0.9], start=1):
        tree.append(sample_proposed(step))
        tree.append(sample_judged(step, speedup=speedup) if speedup else sample_judged(step, outcome=Outcome.WRONG))
    counts = parents_chosen(policy, tree)
    assert max(counts, key=lambda step: counts[step]) == 3
    assert 5 not in counts


def test_greedy_widens_when_stuck() -> None:
    policy = GreedyPolicy(n_drafts=1, patience=5)

    def share_of_mutations(tree: Tree) -> float:
        moves = [policy.ask(tree, random.Random(seed), 1)[0].operator for seed in range(300)]
        return moves.count(Operator.MUTATE) / 300

    assert share_of_mutations(make_tree([1.0, 1.1, 3.0])) > 0.7
    assert share_of_mutations(make_tree([1.0, 3.0] + [1.1] * 20)) < 0.6


def test_uct_sends_the_next_look_elsewhere_while_a_node_is_pending() -> None:
    tree = Tree([sample_opened()])
    for step in (1, 2):
        tree.append(sample_proposed(step))
        tree.append(sample_judged(step, speedup=2.0))
    policy = UctPolicy(n_drafts=2)
    moves = policy.ask(tree, random.Random(0), 2)
    mutated = [move.parents for move in moves if move.operator is Operator.MUTATE]
    assert len({parents[0] for parents in mutated}) == len(mutated)
    before = policy.statistics(tree)[1]
    tree.append(sample_proposed(3, move=next(move for move in moves if move.parents)))
    after = policy.statistics(tree)[tree.node(3).move.parents[0]]
    assert (after.visits, after.total) == (before.visits + 1, before.total)


def test_uct_counts_failures_as_visits_without_reward() -> None:
    statistics = UctPolicy().statistics(make_tree([2.0, FAILED, FAILED, PENDING]))
    assert (statistics[ROOT].visits, statistics[ROOT].total, statistics[ROOT].best) == (4, 1.0, 1.0)
