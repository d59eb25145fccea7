"""What policies lean on: memory, stalls, dead branches, credits, fitness, fronts, descriptors."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.errors import UnknownNameError
from kernelevolve.model.brief import Memory, Move, Operator
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis, Evidence
from kernelevolve.model.events import Answered, Asked, Diagnosed, Judged, Settings
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.search import make_policy
from kernelevolve.search.branches import MAX_LIMIT, MIN_LIMIT, dead, limit_of
from kernelevolve.search.descriptors import Cell, cell_of
from kernelevolve.search.dominance import depths, dominates
from kernelevolve.search.fitness import FITNESS, Direction, make_ruler
from kernelevolve.search.memory import choose_memory
from kernelevolve.search.pareto import front
from kernelevolve.search.stall import is_stalled, window_of
from kernelevolve.search.tree import Tree
from kernelevolve.testing.policy_trees import open_questions
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
    sample_verdict,
)

DRAFT = Move(operator=Operator.DRAFT)


def grow(*nodes: tuple[int, float], settings: Settings | None = None, policy: str = "") -> Tree:
    """(first parent or 0, speed-up or 0 for a failure) per node."""
    tree = Tree([sample_opened(settings)])
    for parent, speedup in nodes:
        add(tree, parent, speedup, policy=policy)
    return tree


def add(tree: Tree, parent: int, speedup: float, *, policy: str = "") -> None:
    step = len(tree) + 1
    move = Move(operator=Operator.MUTATE, parents=(parent,), policy=policy) if parent else DRAFT
    tree.append(sample_proposed(step, move=move.model_copy(update={"policy": policy})))
    outcome = Outcome.CORRECT if speedup else Outcome.WRONG
    tree.append(sample_judged(step, speedup=speedup or 1.0, outcome=outcome))


def with_cost(speedup: float, energy_uj: float | None) -> Verdict:
    verdict = sample_verdict(sample_candidate(0), speedup=speedup)
    assert verdict.timing is not None
    shapes = tuple(shape.model_copy(update={"energy_uj": energy_uj}) for shape in verdict.timing.shapes)
    return verdict.model_copy(update={"timing": verdict.timing.model_copy(update={"shapes": shapes})})


def costs(*pairs: tuple[float, float | None], fitness: str = "speedup") -> Tree:
    tree = Tree([sample_opened(Settings(fitness=fitness))])
    for step, (speedup, energy_uj) in enumerate(pairs, start=1):
        tree.append(sample_proposed(step))
        tree.append(Judged(step=step, verdict=with_cost(speedup, energy_uj), elapsed_s=step))
    return tree


def memory_of(tree: Tree, parent: int) -> Memory:
    return choose_memory(tree, Operator.MUTATE, (parent,))


def test_memory_follows_what_is_known_of_the_parent() -> None:
    tree = grow((0, 1.0), (1, 2.0))
    assert memory_of(tree, 2) is Memory.LINEAGE
    for _ in range(2):
        add(tree, 2, 1.5)
    assert memory_of(tree, 2) is Memory.BOTH, "every step of its path gained, and it has children to compare with"
    add(tree, 3, 1.2)
    add(tree, 3, 1.2)
    assert memory_of(tree, 3) is Memory.SIBLINGS, "its own step was a loss"
    add(tree, 0, 0.0)
    assert memory_of(tree, len(tree)) is Memory.LINEAGE, "a failure to mend"


def test_a_stall_is_met_with_a_clean_slate() -> None:
    tree = grow((0, 3.0))
    for _ in range(window_of(Settings())):
        assert memory_of(tree, 1) is not Memory.CLEAN
        add(tree, 0, 1.0)
    assert is_stalled(tree)
    assert memory_of(tree, 1) is Memory.CLEAN
    add(tree, 1, 5.0)
    assert not is_stalled(tree)


@pytest.mark.parametrize(("budget", "window", "limit"), [(10, 8, MIN_LIMIT), (100, 12, 12), (10_000, 1200, MAX_LIMIT)])
def test_windows_are_parts_of_the_budget(budget: int, window: int, limit: int) -> None:
    settings = Settings(max_candidates=budget)
    assert (window_of(settings), limit_of(settings)) == (window, limit)


def test_a_stall_counts_open_questions_and_empty_answers() -> None:
    tree = grow((0, 3.0))
    tree.append(Asked(ask=1, move=DRAFT, n_wanted=5, seq=1, elapsed_s=1.0))
    assert tree.stall == 5
    tree.append(Answered(ask=1, n_candidates=0, elapsed_s=1.0))
    assert tree.stall == 5, "what was owed and never came was tried as well"
    assert tree.open_asks == []
    add(tree, 1, 4.0)
    assert tree.stall == 0


def test_a_branch_dies_of_attempts_in_a_row_without_gain_and_says_why() -> None:
    tree = grow((0, 2.0), settings=Settings(max_candidates=8))
    for speedup in (0.0, 1.5, 0.0, 1.0, 2.0):
        add(tree, 1, speedup)
    assert dead(tree) == {}
    add(tree, 3, 1.9)  # below a node that is no better than the head: the same branch
    assert dead(tree) == {1: "the last 6 attempts from it: 2 failed, 4 no better"}


def test_a_gain_starts_a_branch_of_its_own_and_revives_the_one_it_came_from() -> None:
    tree = grow((0, 2.0), *[(1, 1.0)] * 6, settings=Settings(max_candidates=8))
    assert list(dead(tree)) == [1]
    add(tree, 2, 1.5)  # beats its parent, not the head
    assert list(dead(tree)) == [1]
    add(tree, 2, 3.0)
    assert dead(tree) == {}
    for _ in range(6):
        add(tree, 1, 1.0)
    assert list(dead(tree)) == [1]
    assert not tree.index.branches.is_dead(9)
    assert tree.index.branches.head[7] == 1
    assert tree.index.branches.head[9] == 9


def test_a_repeat_is_an_edge_to_the_original_and_no_gain() -> None:
    tree = grow((0, 2.0), (0, 1.0), settings=Settings(max_candidates=8))
    for step in range(3, 9):
        tree.append(sample_proposed(step, move=Move(operator=Operator.MUTATE, parents=(2,))))
        tree.append(sample_judged(step, speedup=2.0, same_as=1))
    assert tree.repeats(1) == [3, 4, 5, 6, 7, 8]
    assert tree.repeats(2) == ()
    assert dead(tree) == {2: "the last 6 attempts from it: 6 repeated an earlier one"}


def test_credit_is_for_places_and_fades() -> None:
    tree = grow((0, 1.0), (0, 2.0), (0, 1.5), (0, 0.0), policy="beam")
    credit = tree.index.credits["beam"]
    assert credit.earned == pytest.approx(((1.0 * 0.98 + 1.0) * 0.98 + 0.5) * 0.98)
    assert credit.tried == pytest.approx(1 + 0.98 + 0.98**2 + 0.98**3)
    assert set(tree.index.credits) == {"beam"}


def test_open_questions_are_in_flight_until_they_are_answered() -> None:
    tree = grow((0, 1.0))
    open_questions(tree, [Move(operator=Operator.MUTATE, parents=(1,)), DRAFT])
    assert [move.operator for move in tree.in_flight()] == [Operator.MUTATE, Operator.DRAFT]
    tree.append(Answered(ask=1, n_candidates=1, elapsed_s=2.0))
    tree.append(sample_proposed(2, move=Move(operator=Operator.MUTATE, parents=(1,))))
    assert [asked.ask for asked in tree.open_asks] == [2]
    assert [move.operator for move in tree.in_flight()] == [Operator.MUTATE, Operator.DRAFT]
    assert tree.n_started == 3


def test_fitness_says_which_way_is_better() -> None:
    """PS43: the direction is a type, and a score is always better when it is higher."""
    assert {name: fitness.direction for name, fitness in FITNESS.items()} == {
        "speedup": Direction.HIGHER, "latency": Direction.LOWER, "energy": Direction.LOWER,
    }  # fmt: skip
    slow, fast = with_cost(1.0, 50.0), with_cost(2.0, 80.0)
    for name, better in {"speedup": fast, "latency": fast, "energy": slow}.items():
        scores = {id(verdict): FITNESS[name].score(verdict) for verdict in (slow, fast)}
        assert max(scores, key=lambda key: scores[key] or -math.inf) == id(better)
    assert FITNESS["speedup"].score(fast) == pytest.approx(math.log(2.0 * 0.9))
    assert FITNESS["latency"].score(fast) == pytest.approx(-math.log(50.0))
    assert FITNESS["energy"].score(with_cost(1.0, None)) is None
    assert FITNESS["latency"].score(sample_verdict(sample_candidate(0), outcome=Outcome.WRONG)) is None


def test_a_tree_ranks_by_the_fitness_of_its_campaign() -> None:
    pairs: list[tuple[float, float | None]] = [(1.0, 20.0), (3.0, 90.0), (2.0, 10.0), (4.0, None)]
    assert [node.step for node in costs(*pairs).frontier()] == [4, 2, 3, 1]
    assert [node.step for node in costs(*pairs, fitness="energy").frontier()] == [3, 1, 2]
    by_front = costs(*pairs, fitness="pareto")
    assert [node.step for node in by_front.frontier()] == [4, 2, 3, 1]
    assert [by_front.rank(node) for node in by_front.nodes] == [0.25, 0.75, 0.5, 1.0]
    assert list(by_front.ranks()) == [0.0, 0.25, 0.75, 0.5, 1.0]
    assert [node.step for node in front(costs(*pairs), ["speedup", "energy"])] == [2, 3, 4]
    dominated = costs((4.0, 90.0), (3.0, 95.0), (2.0, 10.0), fitness="pareto:energy,speedup")
    assert [node.step for node in dominated.frontier()] == [3, 1, 2], "what is dominated ranks behind both of the front"


@pytest.mark.parametrize("fitness", ["speed", "pareto:speedup,beauty", "", "pareto:"])
def test_an_unknown_fitness_is_refused_before_a_campaign_opens(fitness: str) -> None:
    if fitness == "pareto:":
        assert len(make_ruler(fitness).objectives) == 2
        return
    with pytest.raises(UnknownNameError, match="energy, latency, pareto, speedup"):
        make_policy("greedy", Settings(fitness=fitness))


def test_an_unknown_memory_is_refused_before_a_campaign_opens() -> None:
    with pytest.raises(UnknownNameError, match="auto, both, clean"):
        make_policy("greedy", Settings(memory="elephant"))


@given(st.integers(2, 3), st.data())
def test_depths_are_those_of_peeling_fronts_off(n_objectives: int, data: st.DataObject) -> None:
    numbers = st.one_of(st.integers(0, 6).map(float), st.just(-math.inf))
    points = data.draw(st.lists(st.tuples(*[numbers] * n_objectives), max_size=30))
    left, expected, depth = set(range(len(points))), [0] * len(points), 0
    while left:
        peeled = {i for i in left if not any(dominates(points[j], points[i]) for j in left)}
        for index in peeled:
            expected[index] = depth
        left, depth = left - peeled, depth + 1
    assert depths(points) == expected


def test_cells_are_measured_and_the_claimed_recipe_only_stands_in() -> None:
    candidate = sample_candidate(0)
    assert cell_of(candidate, None) == Cell(language="fake", family="sample")
    facts = {"registers": 96, "static_shared_bytes": 1024, "dynamic_shared_bytes": 60_000, "matrix_instructions": 8}
    evidence = tuple(Evidence(name=name, value=value, unit="1") for name, value in facts.items())
    diagnosis = Diagnosis(bottleneck=Bottleneck.MEMORY, evidence=evidence)
    assert cell_of(candidate, diagnosis).traits == ("memory", "registers 2", "shared 3", "tensor")
    assert cell_of(candidate, diagnosis).family == ""


def test_a_diagnosis_moves_a_node_to_its_measured_cell() -> None:
    tree = grow((0, 1.0), (0, 2.0))
    before = Cell(language="fake", family="sample")
    assert tree.index.cells.top(before, 5) == [2, 1]
    for bottleneck in (Bottleneck.MEMORY, Bottleneck.COMPUTE):
        tree.append(Diagnosed(step=2, diagnosis=Diagnosis(bottleneck=bottleneck)))
    assert tree.index.cells.top(before, 5) == [1]
    assert tree.index.cells.top(Cell(language="fake", traits=("compute",)), 5) == [2]
    assert len(tree.index.cells) == 2


def test_a_diagnosis_that_comes_before_the_verdict_counts() -> None:
    tree = Tree([sample_opened(), sample_proposed(1)])
    tree.append(Diagnosed(step=1, diagnosis=Diagnosis(bottleneck=Bottleneck.MEMORY)))
    tree.append(sample_judged(1))
    tree.append(Diagnosed(step=1, diagnosis=Diagnosis(bottleneck=Bottleneck.COMPUTE)))
    assert list(tree.index.cells) == [Cell(language="fake", traits=("compute",))]
