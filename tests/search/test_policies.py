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
from kernelevolve.search.beam import BeamPolicy
from kernelevolve.search.greedy import GreedyPolicy
from kernelevolve.search.islands import IslandsPolicy
from kernelevolve.search.mcts import MctsPolicy, statistics
from kernelevolve.search.portfolio import MEMBERS, PortfolioPolicy
from kernelevolve.search.random import RandomPolicy
from kernelevolve.search.tree import Tree
from kernelevolve.testing.policy_case import PolicyCase
from kernelevolve.testing.policy_trees import make_tree
from kernelevolve.testing.samples import sample_judged, sample_opened, sample_proposed


class TestGreedyPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return GreedyPolicy(n_drafts=4)


class TestRandomPolicy(PolicyCase):
    escapes = False

    def make_policy(self) -> Policy:
        return RandomPolicy(n_drafts=4)


class TestBeamPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return BeamPolicy(n_drafts=4)


class TestMctsPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return MctsPolicy(n_drafts=4)

    def statistics(self, policy: Policy, tree: Tree) -> Iterable[float]:
        return statistics(tree).numbers()


class TestIslandsPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return IslandsPolicy(n_drafts=4)


class TestPortfolioPolicy(PolicyCase):
    def make_policy(self) -> Policy:
        return PortfolioPolicy(n_drafts=4)

    def statistics(self, policy: Policy, tree: Tree) -> Iterable[float]:
        assert isinstance(policy, PortfolioPolicy)
        for member in MEMBERS:
            yield from policy.belief(tree, member(n_drafts=4))


@pytest.mark.parametrize("name", POLICIES)
def test_the_settings_reach_every_policy(name: str) -> None:
    policy = make_policy(name, Settings(n_drafts=3))
    moves = policy.ask(make_tree([1.0]), random.Random(0), 3)
    assert [move.operator for move in moves[:2]] == [Operator.DRAFT] * 2
    later = [policy.ask(make_tree([1.0] * 3), random.Random(seed), 1)[0].operator for seed in range(30)]
    assert Operator.MUTATE in later


def test_an_unknown_policy_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="beam, greedy, islands, mcts, portfolio, random, uct"):
        make_policy("genius", Settings())


def parents_chosen(policy: Policy, tree: Tree, n_asks: int = 400) -> dict[int, int]:
    counts: dict[int, int] = {}
    for seed in range(n_asks):
        for move in policy.ask(tree, random.Random(seed), 1):
            for parent in move.parents:
                counts[parent] = counts.get(parent, 0) + 1
    return counts


@pytest.mark.parametrize("policy", [GreedyPolicy(n_drafts=2), MctsPolicy(n_drafts=2)])
def test_works_mostly_on_the_best(policy: Policy) -> None:
    tree = Tree([sample_opened()])
    for step, speedup in enumerate([1.0, 1.2, 3.0, 0.5, 0.0, 0.9], start=1):
        tree.append(sample_proposed(step))
        tree.append(sample_judged(step, speedup=speedup) if speedup else sample_judged(step, outcome=Outcome.WRONG))
    counts = parents_chosen(policy, tree)
    assert max(counts, key=lambda step: counts[step]) == 3
    assert 5 not in counts
