"""What every policy must do. Subclass `PolicyCase`, write `make_policy`, and pytest runs the rest."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Event
from kernelevolve.model.verdict import Outcome
from kernelevolve.search.base import Policy
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_opened, sample_proposed

# What became of a node: a speed-up, a failure (0), a repeat of an earlier usable node (-1), not judged yet (None).
Fate = float | int | None
FAILED, REPEAT, PENDING = 0, -1, None

_FATES = st.one_of(
    st.floats(min_value=1e-300, max_value=1e300),
    st.floats(min_value=0.5, max_value=4.0),
    st.sampled_from([FAILED, FAILED, REPEAT, PENDING]),
)
_TREES = st.tuples(st.lists(_FATES, max_size=40), st.integers(0, 2**32))
_EXAMPLES = settings(
    deadline=None, max_examples=40, database=None, suppress_health_check=[HealthCheck.differing_executors]
)


def make_tree(fates: Sequence[Fate], shape_seed: int = 0) -> Tree:
    """A tree whose edges are drawn with `shape_seed`, among the usable nodes."""
    rng = random.Random(shape_seed)
    tree = Tree([sample_opened()])
    for step, fate in enumerate(fates, start=1):
        usable = [node.step for node in tree.frontier()]
        n_parents = min(len(usable), rng.choice([0, 1, 1, 1, 2]))
        operator = (Operator.DRAFT, Operator.MUTATE, Operator.CROSS)[n_parents]
        move = Move(operator=operator, parents=tuple(rng.sample(sorted(usable), n_parents)))
        repeat = fate == REPEAT and bool(usable)
        candidate = tree.node(usable[0]).candidate if repeat else sample_candidate(step)
        tree.append(sample_proposed(step, move=move, candidate=candidate))
        tree_event = _judgement(step, fate, usable[0] if repeat else None)
        if tree_event:
            tree.append(tree_event)
    return tree


def _judgement(step: int, fate: Fate, same_as: int | None) -> Event | None:
    if fate is PENDING:
        return None
    if same_as is None and fate in (FAILED, REPEAT):
        return sample_judged(step, outcome=Outcome.WRONG)
    return sample_judged(step, speedup=1.0 if same_as else float(fate), same_as=same_as)


class PolicyCase(ABC):
    @abstractmethod
    def make_policy(self) -> Policy: ...

    def statistics(self, policy: Policy, tree: Tree) -> Iterable[float]:
        """Every number the policy computes on its way, where it can tell."""
        return ()

    @given(_TREES, st.integers(1, 6))
    @_EXAMPLES
    def test_gives_as_many_moves_as_asked_and_they_fit_the_tree(self, drawn: tuple[list[Fate], int], n: int) -> None:
        tree = make_tree(*drawn)
        moves = self.make_policy().ask(tree, random.Random(1), n)
        assert len(moves) == n
        for move in moves:
            wanted = {Operator.DRAFT: 0, Operator.MUTATE: 1, Operator.CROSS: 2}[move.operator]
            assert len(set(move.parents)) == len(move.parents) == wanted
            assert all(1 <= parent <= len(tree) for parent in move.parents)

    @given(_TREES, st.integers(0, 2**32))
    @_EXAMPLES
    def test_is_a_pure_function_of_tree_and_seed(self, drawn: tuple[list[Fate], int], seed: int) -> None:
        policy = self.make_policy()
        first = policy.ask(make_tree(*drawn), random.Random(seed), 4)
        policy.ask(make_tree([1.0, 2.0, FAILED]), random.Random(7), 2)
        random.seed(seed + 1)
        assert policy.ask(make_tree(*drawn), random.Random(seed), 4) == first
        assert self.make_policy().ask(make_tree(*drawn), random.Random(seed), 4) == first

    @given(_TREES, st.integers(0, 2**32))
    @_EXAMPLES
    def test_leaves_the_tree_alone(self, drawn: tuple[list[Fate], int], seed: int) -> None:
        tree = make_tree(*drawn)
        before = list(tree.nodes), tree.frontier(), tree.pending
        self.make_policy().ask(tree, random.Random(seed), 3)
        assert (list(tree.nodes), tree.frontier(), tree.pending) == before

    @given(_TREES, st.integers(0, 2**32))
    @_EXAMPLES
    def test_parents_are_usable_when_any_node_is(self, drawn: tuple[list[Fate], int], seed: int) -> None:
        tree = make_tree(*drawn)
        for move in self.make_policy().ask(tree, random.Random(seed), 4):
            parents = [tree.node(parent) for parent in move.parents]
            assert not any(parent.pending for parent in parents)
            assert not tree.n_usable or all(parent.usable for parent in parents)

    @given(_TREES, st.integers(0, 2**32))
    @_EXAMPLES
    def test_no_work_is_ordered_twice(self, drawn: tuple[list[Fate], int], seed: int) -> None:
        tree = make_tree(*drawn)
        moves = [node.move for node in tree.pending] + self.make_policy().ask(tree, random.Random(seed), 6)
        n_old = len(tree.pending)
        keys = [(move.operator, frozenset(move.parents)) for move in moves]
        new = [key for key in keys[n_old:] if key[0] is not Operator.DRAFT]
        assert len(set(new)) == len(new)
        assert not set(new) & set(keys[:n_old])

    @given(
        st.lists(st.integers(0, 60), min_size=1, max_size=40),
        st.sampled_from([0.001, 0.7, 1.0, 3.0, 1000.0]),
        st.integers(0, 2**32),
    )
    @_EXAMPLES
    def test_adding_a_constant_to_all_scores_changes_nothing(self, levels: list[int], factor: float, seed: int) -> None:
        plain = [1.1**level if level else FAILED for level in levels]
        shifted = [factor * speedup if speedup else FAILED for speedup in plain]
        policy = self.make_policy()
        assert policy.ask(make_tree(plain, seed), random.Random(seed), 4) == policy.ask(
            make_tree(shifted, seed), random.Random(seed), 4
        )

    @given(_TREES)
    @_EXAMPLES
    def test_every_statistic_is_finite(self, drawn: tuple[list[Fate], int]) -> None:
        assert all(map(math.isfinite, self.statistics(self.make_policy(), make_tree(*drawn))))

    def test_goes_on_when_nothing_was_ever_correct(self) -> None:
        tree = make_tree([FAILED] * 10)
        assert len(self.make_policy().ask(tree, random.Random(0), 3)) == 3
