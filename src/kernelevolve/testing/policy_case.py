"""What every policy must do. Subclass `PolicyCase`, write `make_policy`, and pytest runs the rest."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelevolve.model.brief import Memory, Move, Operator
from kernelevolve.model.events import Settings
from kernelevolve.model.verdict import Outcome
from kernelevolve.search.base import Policy
from kernelevolve.search.branches import MIN_LIMIT, dead
from kernelevolve.search.tree import Tree
from kernelevolve.testing.policy_trees import DRAWN, FAILED, Drawn, make_tree, open_questions
from kernelevolve.testing.samples import sample_judged, sample_opened, sample_proposed

_EXAMPLES = settings(
    deadline=None, max_examples=40, database=None, suppress_health_check=[HealthCheck.differing_executors]
)
_SEEDS = st.integers(0, 2**32)


def new_work(moves: Iterable[Move]) -> list[tuple[Operator, frozenset[int]]]:
    """What must not be ordered twice: everything but drafts."""
    return [(move.operator, frozenset(move.parents)) for move in moves if move.operator is not Operator.DRAFT]


class PolicyCase(ABC):
    escapes = True
    """Does it look for ways out of a stall?"""

    @abstractmethod
    def make_policy(self) -> Policy: ...

    def statistics(self, policy: Policy, tree: Tree) -> Iterable[float]:
        """Every number the policy computes on its way, where it can tell."""
        return ()

    @given(DRAWN, st.integers(1, 6))
    @_EXAMPLES
    def test_gives_as_many_moves_as_asked_and_they_fit_the_tree(self, drawn: Drawn, n: int) -> None:
        tree = make_tree(*drawn)
        moves = self.make_policy().ask(tree, random.Random(1), n)
        assert len(moves) == n
        for move in moves:
            wanted = {Operator.DRAFT: 0, Operator.MUTATE: 1, Operator.CROSS: 2}[move.operator]
            assert len(set(move.parents)) == len(move.parents) == wanted
            assert all(1 <= parent <= len(tree) for parent in move.parents)

    @given(DRAWN, _SEEDS)
    @_EXAMPLES
    def test_is_a_pure_function_of_tree_and_seed(self, drawn: Drawn, seed: int) -> None:
        policy = self.make_policy()
        first = policy.ask(make_tree(*drawn), random.Random(seed), 4)
        policy.ask(make_tree([1.0, 2.0, FAILED]), random.Random(7), 2)
        random.seed(seed + 1)
        assert policy.ask(make_tree(*drawn), random.Random(seed), 4) == first
        assert self.make_policy().ask(make_tree(*drawn), random.Random(seed), 4) == first

    @given(DRAWN, _SEEDS)
    @_EXAMPLES
    def test_leaves_the_tree_alone(self, drawn: Drawn, seed: int) -> None:
        tree = make_tree(*drawn)
        before = list(tree.nodes), tree.frontier(), tree.pending
        self.make_policy().ask(tree, random.Random(seed), 3)
        assert (list(tree.nodes), tree.frontier(), tree.pending) == before

    @given(DRAWN, _SEEDS)
    @_EXAMPLES
    def test_parents_are_usable_when_any_node_is(self, drawn: Drawn, seed: int) -> None:
        tree = make_tree(*drawn)
        for move in self.make_policy().ask(tree, random.Random(seed), 4):
            parents = [tree.node(parent) for parent in move.parents]
            assert not any(parent.pending for parent in parents)
            assert not tree.n_usable or all(parent.usable for parent in parents)

    @given(DRAWN, _SEEDS)
    @_EXAMPLES
    def test_no_work_is_ordered_twice(self, drawn: Drawn, seed: int) -> None:
        """PS35: neither within a call, nor beside nodes in work, nor beside questions that are still open."""
        tree = make_tree(*drawn)
        policy = self.make_policy()
        in_work = new_work(node.move for node in tree.pending)
        first = policy.ask(tree, random.Random(seed), 4)
        open_questions(tree, first)
        second = policy.ask(tree, random.Random(seed), 4)
        keys = new_work([*first, *second])
        assert len(set(keys)) == len(keys)
        assert not set(keys) & set(in_work)

    @given(DRAWN, _SEEDS)
    @_EXAMPLES
    def test_every_lineage_reaches_a_root(self, drawn: Drawn, seed: int) -> None:
        """PS13."""
        tree = make_tree(*drawn)
        for move in self.make_policy().ask(tree, random.Random(seed), 4):
            tree.append(sample_proposed(len(tree) + 1, move=move))
        for node in tree.nodes:
            line = tree.lineage(node.step)
            assert not line[0].move.parents
            assert line[-1] is node

    @given(DRAWN, _SEEDS)
    @_EXAMPLES
    def test_drafts_remember_nothing_and_crossings_two_lines(self, drawn: Drawn, seed: int) -> None:
        for move in self.make_policy().ask(make_tree(*drawn), random.Random(seed), 4):
            assert (move.memory is Memory.FUSE) == (move.operator is Operator.CROSS)
            assert move.operator is not Operator.DRAFT or move.memory is Memory.CLEAN
            assert move.policy
            assert move.reason

    @given(DRAWN, st.sampled_from(list(Memory)))
    @_EXAMPLES
    def test_a_memory_that_is_set_is_used(self, drawn: Drawn, memory: Memory) -> None:
        tree = make_tree(*drawn, settings=Settings(memory=memory.value))
        moves = self.make_policy().ask(tree, random.Random(0), 4)
        assert {move.memory for move in moves if move.operator is Operator.MUTATE} <= {memory}

    @given(DRAWN, _SEEDS)
    @_EXAMPLES
    def test_dead_branches_get_no_moves_while_another_lives(self, drawn: Drawn, seed: int) -> None:
        tree = make_tree(*drawn, settings=Settings(max_candidates=MIN_LIMIT))
        ended, branches = dead(tree), tree.index.branches
        for move in self.make_policy().ask(tree, random.Random(seed), 4):
            if branches.any_alive:
                assert not any(branches.head[parent] in ended for parent in move.parents)

    def test_a_branch_that_only_fails_is_left(self) -> None:
        """Of two good starts the better one leads nowhere."""
        tree = Tree([sample_opened(Settings(max_candidates=MIN_LIMIT, n_drafts=2))])
        fates: list[tuple[int, float]] = [(0, 3.0), (0, 2.0), *[(1, 0.0)] * MIN_LIMIT]
        for step, (parent, speedup) in enumerate(fates, start=1):
            move = Move(operator=Operator.MUTATE, parents=(parent,)) if parent else Move(operator=Operator.DRAFT)
            tree.append(sample_proposed(step, move=move))
            outcome = Outcome.CORRECT if speedup else Outcome.WRONG
            tree.append(sample_judged(step, speedup=speedup or 1.0, outcome=outcome))
        assert list(dead(tree)) == [1]
        asked = [self.make_policy().ask(tree, random.Random(seed), 1)[0] for seed in range(60)]
        parents = {parent for move in asked for parent in move.parents}
        assert parents == {2}

    @given(st.integers(0, 12), st.integers(0, 12))
    @_EXAMPLES
    def test_the_first_attempts_are_drafts_open_questions_included(self, n_nodes: int, n_open: int) -> None:
        """Of 4 (`make_policy` must say so)."""
        tree = make_tree([1.0] * n_nodes)
        open_questions(tree, [Move(operator=Operator.DRAFT)] * n_open)
        moves = self.make_policy().ask(tree, random.Random(0), 4)
        n_first = max(0, 4 - n_nodes - n_open)
        assert all(move.operator is Operator.DRAFT for move in moves[:n_first])
        assert [move.reason == "a first start" for move in moves] == [index < n_first for index in range(4)]

    def test_a_stall_is_answered_in_several_ways(self) -> None:
        """The best came first, and nothing in the budget's tenth and more after it was better."""
        kinds = set()
        for n in range(10, 40):
            tree = make_tree([4.0] + [1.0 + 0.01 * step for step in range(n)], n)
            for seed in range(6):
                for move in self.make_policy().ask(tree, random.Random(seed), 2):
                    if "no new best" in move.reason:
                        kinds.add((move.operator, bool(move.language), bool(move.avoid)))
        ways = {(Operator.DRAFT, False, False), (Operator.DRAFT, False, True), (Operator.CROSS, False, False)}
        assert ways <= kinds if self.escapes else not kinds

    @given(
        st.lists(st.integers(0, 60), min_size=1, max_size=40),
        st.sampled_from([0.001, 0.7, 1.0, 3.0, 1000.0]),
        _SEEDS,
    )
    @_EXAMPLES
    def test_adding_a_constant_to_all_scores_changes_nothing(self, levels: list[int], factor: float, seed: int) -> None:
        """PS17: nor does ranking by latency instead, where a speed-up is over one and the same baseline."""
        plain = [1.1**level if level else FAILED for level in levels]
        shifted = [factor * speedup if speedup else FAILED for speedup in plain]
        policy = self.make_policy()
        moves = policy.ask(make_tree(plain, seed), random.Random(seed), 4)
        assert moves == policy.ask(make_tree(shifted, seed), random.Random(seed), 4)
        by_latency = make_tree(shifted, seed, settings=Settings(fitness="latency"))
        assert moves == policy.ask(by_latency, random.Random(seed), 4)

    @given(DRAWN)
    @_EXAMPLES
    def test_every_statistic_is_finite(self, drawn: Drawn) -> None:
        """PS22."""
        assert all(map(math.isfinite, self.statistics(self.make_policy(), make_tree(*drawn))))

    def test_goes_on_when_nothing_was_ever_correct(self) -> None:
        tree = make_tree([FAILED] * 10)
        assert len(self.make_policy().ask(tree, random.Random(0), 3)) == 3
