"""What the builtin proposer makes of a brief's memory and of a move's wishes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.model.brief import Attempt, Brief, Memory, Move, Operator, Remembered, Role
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers.base import Proposer
from kernelevolve.testing.proposer_case import sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task
from tests.proposers.builtin_parts import make_builtin

N_SEEDS = 60


@pytest.fixture
def proposer(tmp_path: Path) -> Proposer:
    return make_builtin(tmp_path)


@pytest.fixture
def made(proposer: Proposer) -> dict[tuple[str, ...], Candidate]:
    """Every candidate there is, by recipe and settings."""
    found = proposer.propose(sample_brief(sample_task(), n_wanted=10_000))
    return {(c.origin.recipe, *map("=".join, sorted(c.origin.parameters.items()))): c for c in found}


def blocks(made: dict[tuple[str, ...], Candidate], **changed: str) -> Candidate:
    """The recipe "blocks" with its defaults, but for the changes."""
    defaults = {"double/blocks", "UNROLL=4", "LOAD=wide", "threads=2"}
    start = next(candidate for key, candidate in made.items() if defaults <= set(key) and not candidate.flags)
    settings = {**start.origin.parameters, **changed}
    return made["double/blocks", *map("=".join, sorted(settings.items()))]


def brief_of(
    parent: Attempt, remembered: tuple[Remembered, ...] = (), *, seed: int = 0, n_wanted: int = 1,
    memory: Memory = Memory.BOTH, history: tuple[Attempt, ...] = (), **wishes: object,
) -> Brief:  # fmt: skip
    move = Move.model_validate({"operator": Operator.MUTATE, "parents": (parent.step,), "memory": memory, **wishes})
    brief = sample_brief(sample_task(), parents=(parent,), history=(parent, *history), seed=seed, n_wanted=n_wanted)
    return brief.model_copy(update={"move": move, "remembered": remembered})


def parameters(proposer: Proposer, brief: Brief) -> dict[str, str]:
    (candidate,) = proposer.propose(brief)
    return {"recipe": candidate.origin.recipe, **candidate.origin.parameters}


def test_what_siblings_show_to_be_worse_comes_last(proposer: Proposer, made: dict[tuple[str, ...], Candidate]) -> None:
    parent = sample_attempt(1, blocks(made), speedup=2.0)
    sibling = sample_attempt(2, blocks(made, UNROLL="8"), speedup=1.2)
    seen = Remembered(attempt=sibling, role=Role.SIBLING, parent=1)
    # Without history there is no other evidence: only the memory can tell.
    with_memory = [parameters(proposer, brief_of(parent, (seen,), seed=seed)) for seed in range(N_SEEDS)]
    assert not [p for p in with_memory if p["recipe"] == "double/blocks" and p["UNROLL"] == "8"]
    without = [parameters(proposer, brief_of(parent, seed=seed)) for seed in range(N_SEEDS)]
    assert [p for p in without if p["recipe"] == "double/blocks" and p["UNROLL"] == "8"]
    clean = [parameters(proposer, brief_of(parent, (seen,), seed=seed, memory=Memory.CLEAN)) for seed in range(N_SEEDS)]
    assert clean == [parameters(proposer, brief_of(parent, seed=seed, memory=Memory.CLEAN)) for seed in range(N_SEEDS)]


def test_last_is_not_never(proposer: Proposer, made: dict[tuple[str, ...], Candidate]) -> None:
    parent = sample_attempt(1, blocks(made), speedup=2.0)
    sibling = sample_attempt(2, blocks(made, LOAD="narrow"), speedup=1.2)
    seen = Remembered(attempt=sibling, role=Role.SIBLING, parent=1)
    found = proposer.propose(brief_of(parent, (seen,), n_wanted=10_000))
    assert {c.id for c in found} == {c.id for c in made.values()} - {parent.candidate.id}
    singles = [
        c.origin.parameters["LOAD"]
        for c in found
        if c.origin.recipe == "double/blocks" and ", " not in c.origin.intent and " -> " in c.origin.intent
    ]
    assert singles.index("narrow") > singles.index("wide")


def test_a_sibling_of_another_parent_or_with_two_changes_tells_nothing(
    proposer: Proposer, made: dict[tuple[str, ...], Candidate]
) -> None:
    parent = sample_attempt(1, blocks(made), speedup=2.0)
    two = sample_attempt(2, blocks(made, UNROLL="8", LOAD="narrow"), speedup=1.2)
    elsewhere = sample_attempt(3, blocks(made, UNROLL="8"), speedup=1.2)
    seen = (
        Remembered(attempt=two, role=Role.SIBLING, parent=1),
        Remembered(attempt=elsewhere, role=Role.SIBLING, parent=9),
    )
    for seed in range(20):
        assert parameters(proposer, brief_of(parent, seen, seed=seed)) == parameters(
            proposer, brief_of(parent, seed=seed)
        )


@pytest.mark.parametrize(("before", "now", "onward"), [("2", "4", "8"), ("8", "4", "2")])
def test_a_direction_that_paid_is_gone_on_in(
    proposer: Proposer, made: dict[tuple[str, ...], Candidate], before: str, now: str, onward: str
) -> None:
    def remembered(speedup: float) -> tuple[Remembered, ...]:
        ancestor = sample_attempt(1, blocks(made, UNROLL=before), speedup=speedup)
        return (
            Remembered(attempt=ancestor, role=Role.LINEAGE),
            Remembered(attempt=parent, role=Role.PARENT, parent=1),
        )

    def n_onward(speedup: float, memory: Memory = Memory.LINEAGE) -> int:
        found = [
            parameters(proposer, brief_of(parent, remembered(speedup), seed=seed, memory=memory))
            for seed in range(N_SEEDS)
        ]
        return sum(p["recipe"] == "double/blocks" and p.get("UNROLL") == onward for p in found)

    parent = sample_attempt(2, blocks(made, UNROLL=now), speedup=2.0)
    assert n_onward(1.5) > 1.4 * n_onward(2.2)
    assert n_onward(1.5) > N_SEEDS / 2
    assert n_onward(1.5, Memory.CLEAN) == n_onward(2.2, Memory.CLEAN)


def test_a_clean_start_does_not_know_how_the_past_went(
    proposer: Proposer, made: dict[tuple[str, ...], Candidate]
) -> None:
    started = [
        next(c for key, c in made.items() if key[0] == f"double/{name}") for name in ("plain", "blocks", "streams")
    ]
    good = tuple(sample_attempt(n, c, speedup=float(n)) for n, c in enumerate(started, 1))
    bad = tuple(sample_attempt(n, c, speedup=4.0 - n) for n, c in enumerate(started, 1))
    for seed in range(20):
        briefs = [
            sample_brief(sample_task(), history=history, seed=seed).model_copy(
                update={"move": Move(operator=Operator.DRAFT, memory=Memory.CLEAN)}
            )
            for history in (good, bad)
        ]
        first, second = (proposer.propose(brief) for brief in briefs)
        assert first == second
        assert first[0].id not in {c.id for c in started}


@pytest.mark.parametrize("name", ["blocks", "double/blocks"])
def test_what_is_to_be_avoided_is_avoided_while_there_is_something_else(
    proposer: Proposer, made: dict[tuple[str, ...], Candidate], name: str
) -> None:
    parent = sample_attempt(1, blocks(made), speedup=2.0)
    recipes = [c.origin.recipe for c in proposer.propose(brief_of(parent, avoid=(name,), n_wanted=10_000))]
    n_others = sum(key[0] != "double/blocks" for key in made)
    assert set(recipes[:n_others]) == {"double/plain", "double/streams"}
    assert set(recipes[n_others:]) == {"double/blocks"}
    draft = sample_brief(sample_task(), n_wanted=3)
    avoided = draft.model_copy(update={"move": Move(operator=Operator.DRAFT, avoid=(name, "plain"))})
    assert proposer.propose(avoided)[0].origin.recipe == "double/streams"


def test_avoiding_everything_avoids_nothing(proposer: Proposer, made: dict[tuple[str, ...], Candidate]) -> None:
    parent = sample_attempt(1, blocks(made), speedup=2.0)
    everything = ("plain", "blocks", "streams")
    for seed in range(10):
        assert parameters(proposer, brief_of(parent, avoid=everything, seed=seed)) == parameters(
            proposer, brief_of(parent, seed=seed)
        )


def test_another_language_is_written_where_there_is_a_recipe_in_it(
    proposer: Proposer, made: dict[tuple[str, ...], Candidate]
) -> None:
    file = SourceFile(path="double.py", text="def double(x, out, N): ...\n")
    foreign = Candidate(language="python", files=(file,), origin=Origin(proposer="someone"))
    parent = sample_attempt(1, foreign, speedup=1.0)
    (found,) = proposer.propose(brief_of(parent, language="cpp"))
    assert found.language == "cpp"
    ours = sample_attempt(1, blocks(made), speedup=2.0)
    for seed in range(10):
        assert parameters(proposer, brief_of(ours, language="triton", seed=seed)) == parameters(
            proposer, brief_of(ours, seed=seed)
        ), "no recipe is in that language"
