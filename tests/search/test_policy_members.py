"""What is particular to one policy."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kernelevolve.model.brief import Memory, Move, Operator
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Diagnosed, Settings
from kernelevolve.model.verdict import Outcome
from kernelevolve.search.base import Policy
from kernelevolve.search.beam import BeamPolicy
from kernelevolve.search.greedy import GreedyPolicy
from kernelevolve.search.index import ROOT
from kernelevolve.search.islands import IslandsPolicy
from kernelevolve.search.mcts import MctsPolicy, statistics
from kernelevolve.search.moves import Moves
from kernelevolve.search.portfolio import PortfolioPolicy
from kernelevolve.search.stagnation import escape, other_language
from kernelevolve.search.tree import Tree
from kernelevolve.testing.policy_trees import open_questions
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_opened, sample_proposed
from kernelevolve.toolchains import languages_for

DRAFT = Move(operator=Operator.DRAFT)


def grow(
    *nodes: tuple[int, float], settings: Settings | None = None, languages: str = "", recipes: str = ""
) -> Tree:  # fmt: skip
    """(first parent or 0, speed-up or 0 for a failure) per node; a letter per node for language and recipe."""
    tree = Tree([sample_opened(settings)])
    for step, (parent, speedup) in enumerate(nodes, start=1):
        candidate = sample_candidate(step)
        origin = candidate.origin.model_copy(update={"recipe": recipes[step - 1].strip() if recipes else "one"})
        language = languages[step - 1] if languages else "fake"
        candidate = candidate.model_copy(update={"language": language, "origin": origin})
        move = Move(operator=Operator.MUTATE, parents=(parent,)) if parent else DRAFT
        tree.append(sample_proposed(step, move=move, candidate=candidate))
        outcome = Outcome.CORRECT if speedup else Outcome.WRONG
        tree.append(sample_judged(step, speedup=speedup or 1.0, outcome=outcome))
    return tree


def asked(policy: Policy, tree: Tree, n_seeds: int = 200, n: int = 1) -> list[Move]:
    return [move for seed in range(n_seeds) for move in policy.ask(tree, random.Random(seed), n)]


def mutated(moves: list[Move]) -> Counter[int]:
    return Counter(move.parents[0] for move in moves if move.operator is Operator.MUTATE)


def test_mcts_counts_failures_repeats_and_open_questions_as_visits_without_reward() -> None:
    tree = grow((0, 2.0), (0, 1.0), (1, 0.0))
    tree.append(sample_proposed(4, move=Move(operator=Operator.MUTATE, parents=(2,))))
    before = statistics(tree)
    assert before.visits == [4, 2, 2, 1, 1]
    assert before.total == [1.5, 1.0, 0.5, 0.0, 0.0]
    assert before.best == [1.0, 1.0, 0.5, 0.0, 0.0]
    open_questions(tree, [Move(operator=Operator.MUTATE, parents=(2,)), DRAFT])
    tree.append(sample_judged(4, speedup=2.0, same_as=1))
    after = statistics(tree)
    assert after.visits == [6, 3, 3, 1, 1], "a question each, below 2 and at the root; the repeat visits 1 as well"
    assert after.total == before.total


def test_mcts_puts_a_lineage_to_work_once_in_a_call() -> None:
    tree = grow((0, 1.0), (1, 2.0), (2, 3.0), (0, 0.9), (4, 0.8), settings=Settings(n_drafts=2))
    policy = MctsPolicy(n_drafts=2, widening=0.5)  # so narrow that it goes down to the leaves first
    for seed in range(50):
        parents = [move.parents[0] for move in policy.ask(tree, random.Random(seed), 4) if move.parents]
        lines = [min(parent, 4) if parent >= 4 else 1 for parent in parents]
        assert len(set(lines)) == len(lines)


def test_mcts_finds_what_grew_out_of_a_mended_failure() -> None:
    tree = grow((0, 0.0), (1, 3.0), (0, 1.0))
    assert mutated(asked(MctsPolicy(n_drafts=2), tree))[2] > 0


def test_mcts_widens_with_visits() -> None:
    """A node that was visited often gets further children; a fresh one first of all its first."""
    tree = grow((0, 2.0), (1, 1.9))
    narrow = MctsPolicy(n_drafts=1, widening=0.1, growth=0.5)
    assert mutated(asked(narrow, tree)).keys() == {2}
    assert 1 in mutated(asked(MctsPolicy(n_drafts=1, widening=2.0), tree))


def test_mcts_turns_to_the_best_of_all_when_the_budget_runs_out() -> None:
    nodes = [(0, 1.0 + 0.01 * n) for n in range(8)] + [(1, 3.0), (9, 2.9), (9, 2.8)]
    early = mutated(asked(MctsPolicy(n_drafts=4), grow(*nodes, settings=Settings(max_candidates=200))))
    late = mutated(asked(MctsPolicy(n_drafts=4), grow(*nodes, settings=Settings(max_candidates=13))))
    assert early.most_common(1)[0][0] == 8, "a good start that was never gone on from"
    assert late.most_common(1)[0][0] == 9
    assert late[9] + late[10] + late[11] > 0.5 * late.total()


def test_a_beam_goes_one_deeper_only_when_a_depth_is_done() -> None:
    policy = BeamPolicy(n_drafts=3, width=2, per_node=2, crossing=0.0)
    nodes = [(0, 3.0), (0, 2.0), (0, 1.0)]
    order = []
    for _ in range(7):
        tree = grow(*nodes, settings=Settings(max_candidates=1000))
        parents = policy.ask(tree, random.Random(0), 1)[0].parents
        order.append(parents[0])
        nodes.append((parents[0], 1.5 - 0.01 * len(nodes)))
    assert order == [1, 1, 2, 2, 4, 4, 5], "both of the beam twice; then the best two of depth 1; 3 is not in the beam"


def test_a_beam_counts_what_is_in_flight() -> None:
    tree = grow((0, 3.0), (0, 2.0), settings=Settings(max_candidates=1000))
    policy = BeamPolicy(n_drafts=2, width=2, per_node=1, crossing=0.0)
    open_questions(tree, policy.ask(tree, random.Random(0), 1))
    assert [move.parents for move in policy.ask(tree, random.Random(0), 1)] == [(2,)]


def test_islands_are_languages_and_each_has_its_turn() -> None:
    tree = grow((0, 9.0), (0, 8.0), (0, 7.0), (0, 1.0), languages="aaab", settings=Settings(max_candidates=1000))
    policy = IslandsPolicy(n_drafts=4, crossing=0.0)
    assert set(policy.islands(tree, Moves(tree, "islands"))) == {"a", "b"}
    counts = mutated(asked(policy, tree))
    assert 70 < counts[4] < 130


def test_islands_are_families_while_there_is_one_language() -> None:
    tree = grow((0, 9.0), (0, 8.0), (0, 7.0), recipes="xyx")
    assert set(IslandsPolicy().islands(tree, Moves(tree, "islands"))) == {"x", "y"}


def test_crossings_are_between_different_cells_only() -> None:
    tree = grow(*[(0, float(n)) for n in range(1, 9)], languages="aaaabbbb", settings=Settings(max_candidates=1000))
    for step in (1, 2, 5):
        tree.append(Diagnosed(step=step, diagnosis=Diagnosis(bottleneck=Bottleneck.MEMORY)))
    cell_of = {step: cell for cell in tree.index.cells for step in tree.index.cells.each(cell)}
    moves = asked(IslandsPolicy(n_drafts=4, crossing=1.0), tree, n=3)
    pairs = {frozenset(move.parents) for move in moves if move.operator is Operator.CROSS}
    assert len(pairs) > 3
    assert all(len({cell_of[step] for step in pair}) == 2 for pair in pairs)
    languages = {len({tree.node(step).candidate.language for step in pair}) for pair in pairs}
    assert languages == {1, 2}, "within an island and between two"


def test_an_archive_of_thousands_of_claimed_families_is_cut_to_the_best() -> None:
    recipes = "".join(chr(0x4E00 + n) for n in range(300))
    tree = grow(*[(0, 1.0 + n) for n in range(300)], recipes=recipes)
    islands = IslandsPolicy(n_cells=10).islands(tree, Moves(tree, "islands"))
    assert sorted(elites[0].step for cells in islands.values() for _, elites in cells) == list(range(291, 301))


def test_a_portfolio_gives_most_to_the_member_that_brings_most() -> None:
    tree = Tree([sample_opened(Settings(max_candidates=10_000))])
    for step in range(1, 121):
        good = step % 3 == 0
        name = "islands" if good else "beam" if step % 3 == 1 else "mcts"
        tree.append(sample_proposed(step, move=DRAFT.model_copy(update={"policy": name})))
        speedup = 1.0 + step / 100 if good else 0.5 + step * 1e-6
        tree.append(sample_judged(step, speedup=speedup))
    counts = Counter(move.policy for move in asked(PortfolioPolicy(n_drafts=4), tree))
    assert counts["islands"] > 150
    assert counts["beam"] + counts["mcts"] < 20


def test_a_portfolio_tries_every_member() -> None:
    tree = grow((0, 1.0), (0, 2.0), (0, 3.0), (0, 1.5))
    counts = Counter(move.policy for move in asked(PortfolioPolicy(n_drafts=4), tree))
    assert {"greedy", "beam", "mcts", "islands"} <= set(counts)
    first = PortfolioPolicy(n_drafts=4).ask(Tree([sample_opened()]), random.Random(0), 1)[0]
    assert first.policy == "portfolio"


def stalled(n: int, *, recipes: str = "pq") -> Tree:
    nodes = [(0, 4.0), (0, 3.0), *[(0, 1.0)] * n]
    return grow(*nodes, languages="ab" + "a" * n, recipes=recipes + "r" * n)


def ways_out(tree: Tree) -> list[Move]:
    found = []
    for seed in range(60):
        moves = Moves(tree, "greedy")
        if escape(tree, moves, random.Random(seed)):
            found += moves.taken
    return found


def test_ways_out_of_a_stall_take_turns() -> None:
    assert ways_out(stalled(5)) == []
    kinds = []
    for n in range(11, 24, 3):
        ways = ways_out(stalled(n))
        assert 10 < len(ways) < 35, "one in three"
        assert len(set(ways)) == 1
        kinds.append(ways[0])
    assert [(move.operator, move.language, move.avoid[:2]) for move in kinds] == [
        (Operator.DRAFT, "", ()),
        (Operator.DRAFT, "cpp", ()),  # of the platform's languages and those seen the one least tried
        (Operator.DRAFT, "", ("p", "q")),
        (Operator.CROSS, "", ()),
        (Operator.DRAFT, "", ()),
    ]
    assert [move.memory for move in kinds] == [*[Memory.CLEAN] * 3, Memory.FUSE, Memory.CLEAN]


def test_on_a_gpu_another_language_may_be_host_code() -> None:
    tree = grow((0, 4.0), languages="ab", recipes="pq")
    assert tree.opened is not None
    opened = tree.opened.model_copy(update={"facts": tree.opened.facts.model_copy(update={"kind": "cuda"})})
    seen, tree = [], Tree([opened])
    for step in range(1, 8):
        moves = Moves(tree, "greedy")
        assert other_language(tree, moves)
        seen.append(moves.taken[0].language)
        tree.append(sample_proposed(step, candidate=sample_candidate(step).model_copy(update={"language": seen[-1]})))
        tree.append(sample_judged(step, outcome=Outcome.WRONG))
    assert sorted(seen) == sorted(languages_for("cuda"))


def test_a_way_out_that_is_closed_gives_its_turn_to_the_next() -> None:
    nameless = ways_out(stalled(17, recipes="  "))
    assert {move.avoid for move in nameless} == {("r",)}
    nodes = [(0, 4.0), (0, 3.0), *[(0, 1.0)] * 17]
    assert {move.operator for move in ways_out(grow(*nodes, recipes=" " * 19))} == {Operator.CROSS}


@pytest.mark.parametrize("policy", [GreedyPolicy(n_drafts=2), BeamPolicy(n_drafts=2), IslandsPolicy(n_drafts=2)])
def test_nothing_to_go_on_from_means_a_draft(policy: Policy) -> None:
    tree = grow((0, 1.0), (0, 0.0))
    open_questions(tree, [Move(operator=Operator.MUTATE, parents=(1,))])
    assert [move.operator for move in policy.ask(tree, random.Random(1), 2)] == [Operator.DRAFT] * 2


def test_when_every_branch_is_dead_the_budget_is_still_used() -> None:
    tree = grow((0, 2.0), *[(1, 1.0)] * 6, settings=Settings(max_candidates=8))
    assert not tree.index.branches.any_alive
    assert 1 in mutated(asked(GreedyPolicy(n_drafts=1), tree))


def test_the_root_stands_for_no_node() -> None:
    assert ROOT == 0
    assert Tree().ranks() == [0.0]
