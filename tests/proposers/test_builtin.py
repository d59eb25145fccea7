from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import ProposerError
from kernelevolve.model.brief import Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import Rule, SourceFile
from kernelevolve.proposers.base import Proposer
from kernelevolve.testing.proposer_case import SAMPLE_FACTS, ProposerCase, sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task
from tests.proposers.builtin_parts import make_builtin

BLOCKS = 4 * 2 * 2 * 2 * 3 * 2 * 2  # UNROLL LOAD threads opt width math(exact quiet) unroll
PLAIN = 2 * 3 * 2 * 2
STREAMS = 2 * 2 * PLAIN


class TestBuiltinProposer(ProposerCase):
    def make_proposer(self, folder: Path) -> Proposer:
        return make_builtin(folder)


@pytest.fixture
def proposer(tmp_path: Path) -> Proposer:
    return make_builtin(tmp_path)


def changed(before: Candidate, after: Candidate) -> dict[str, str]:
    return {
        name: value for name, value in after.origin.parameters.items() if before.origin.parameters.get(name) != value
    }


def draft(proposer: Proposer, recipe: str) -> Candidate:
    """The first candidate of a recipe."""
    found = proposer.propose(sample_brief(sample_task(), n_wanted=3))
    return next(candidate for candidate in found if candidate.origin.recipe == f"double/{recipe}")


def test_drafts_every_recipe_that_fits_once_simple_ones_first(proposer: Proposer) -> None:
    found = proposer.propose(sample_brief(sample_task(), n_wanted=3))
    assert [candidate.origin.recipe for candidate in found] == ["double/plain", "double/blocks", "double/streams"]
    assert found[1].origin.parameters["UNROLL"] == "4"
    assert found[1].flags == ()
    history = (sample_attempt(1, found[0]), sample_attempt(2, found[2]))
    (missing,) = proposer.propose(sample_brief(sample_task(), history=history))
    assert missing == found[1]


def test_settings_become_macros_in_front_of_the_source_and_flags(proposer: Proposer) -> None:
    candidate = draft(proposer, "blocks")
    assert candidate.files[0].path == "double.cpp"
    assert candidate.source.startswith("#define UNROLL 4\n#define LOAD wide\n#define KE_THREADS 2\n// recipe: blocks\n")
    assert "KE_THREADS" not in draft(proposer, "plain").source
    parent = sample_attempt(1, candidate, speedup=2.0)
    brief = sample_brief(sample_task(), operator=Operator.MUTATE, parents=(parent,), history=(parent,), n_wanted=60)
    by_settings = [c for c in proposer.propose(brief) if changed(candidate, c) == {"width": "512"}]
    assert [c.flags for c in by_settings] == [("-mprefer-vector-width=512",)]


def test_a_mutation_changes_what_it_says(proposer: Proposer) -> None:
    candidate = draft(proposer, "blocks")
    parent = sample_attempt(1, candidate, speedup=2.0)
    n_changes = []
    for seed in range(60):
        brief = sample_brief(sample_task(), operator=Operator.MUTATE, parents=(parent,), history=(parent,), seed=seed)
        (child,) = proposer.propose(brief)
        difference = changed(candidate, child)
        if child.origin.recipe != candidate.origin.recipe:
            kept = {"UNROLL", "threads", "opt", "width", "math", "unroll"} & set(child.origin.parameters)
            for name in kept:
                assert child.origin.parameters[name] == candidate.origin.parameters[name]
            assert child.origin.intent.startswith("blocks -> ")
            continue
        n_changes.append(len(difference))
        said = ", ".join(f"{name} {candidate.origin.parameters[name]} -> {value}" for name, value in difference.items())
        assert child.origin.intent == f"blocks: {said}"
    assert set(n_changes) == {1, 2}
    assert 30 < len(n_changes) < 60, "most mutations stay with the recipe, some hop"


def test_mutations_follow_the_evidence(proposer: Proposer) -> None:
    """threads 1 was much slower than threads 2 whatever else: do not go back there."""
    start = draft(proposer, "blocks")
    history = [sample_attempt(1, start, speedup=2.0)]
    for seed in range(12):
        brief = sample_brief(
            sample_task(), operator=Operator.MUTATE, parents=(history[0],), history=tuple(history), seed=seed
        )
        (child,) = proposer.propose(brief)
        slow = child.origin.parameters.get("threads") == "1"
        history.append(sample_attempt(len(history) + 1, child, speedup=0.9 if slow else 2.0))
    # every value of threads has to be known for the question to make sense
    one = next((a for a in history if a.candidate.origin.parameters.get("threads") == "1"), None)
    if one is None:
        settings = {**start.origin.parameters, "threads": "1"}
        slow = start.model_copy(update={"origin": start.origin.model_copy(update={"parameters": settings})})
        history.append(sample_attempt(99, slow, speedup=0.9))
    threads = []
    for seed in range(100, 160):
        brief = sample_brief(
            sample_task(), operator=Operator.MUTATE, parents=(history[0],), history=tuple(history), seed=seed
        )
        (child,) = proposer.propose(brief)
        threads.append(child.origin.parameters.get("threads"))
    assert threads.count("1") <= 3


def test_a_crossover_takes_the_better_recipe_and_knobs_of_both(proposer: Proposer) -> None:
    first = draft(proposer, "blocks")
    parent = sample_attempt(1, first, speedup=2.0)
    other = next(
        c
        for c in proposer.propose(sample_brief(
            sample_task(), operator=Operator.MUTATE, parents=(parent,), history=(parent,), n_wanted=200
        ))
        if len(changed(first, c)) == 2 and c.origin.recipe == "double/blocks"
    )  # fmt: skip
    history = (parent, sample_attempt(2, other, speedup=1.5))
    brief = sample_brief(sample_task(), operator=Operator.CROSS, parents=history, history=history)
    (child,) = proposer.propose(brief)
    assert child.origin.recipe == "double/blocks"
    taken = changed(first, child)
    assert len(taken) == 1
    assert taken.items() <= changed(first, other).items()
    ((name, value),) = taken.items()
    assert child.origin.intent == f"blocks: step 1 with {name} {value} from step 2"


def test_a_crossover_of_two_recipes_keeps_the_better_ones_own_knobs(proposer: Proposer) -> None:
    blocks, streams = draft(proposer, "blocks"), draft(proposer, "streams")
    history = (sample_attempt(1, streams, speedup=1.1), sample_attempt(2, blocks, speedup=3.0))
    (child,) = proposer.propose(sample_brief(sample_task(), operator=Operator.CROSS, parents=history, history=history))
    assert child.origin.recipe == "double/blocks"
    assert changed(blocks, child) == {"UNROLL": "2"}


def test_tries_every_setting_once_and_then_stops(proposer: Proposer) -> None:
    found = proposer.propose(sample_brief(sample_task(), n_wanted=10_000))
    assert len(found) == PLAIN + BLOCKS + STREAMS
    assert len({candidate.id for candidate in found}) == len(found)
    history = tuple(sample_attempt(step, candidate) for step, candidate in enumerate(found, 1))
    for operator in Operator:
        brief = sample_brief(sample_task(), operator=operator, parents=history[:2], history=history)
        assert proposer.propose(brief) == []
    (last,) = proposer.propose(sample_brief(sample_task(), history=history[:-1]))
    assert last.id == found[-1].id


def test_relaxed_rounding_only_where_rule_and_recipe_allow_it(proposer: Proposer) -> None:
    exact = sample_task()
    scaled = exact.model_copy(update={"rule": Rule(kind="scaled", rtol=1e-5)})
    for task, allowed in ((exact, set()), (scaled, {"double/plain", "double/blocks"})):
        found = proposer.propose(sample_brief(task, n_wanted=10_000))
        relaxed = {candidate.origin.recipe for candidate in found if "-fassociative-math" in candidate.flags}
        assert relaxed == allowed


def test_source_of_others_is_tuned_by_its_flags(proposer: Proposer) -> None:
    file = SourceFile(path="mine.cpp", text="// by hand\n")
    foreign = Candidate(language="cpp", files=(file,), flags=("-DX=1", "-O2"), origin=Origin(proposer="someone"))
    parent = sample_attempt(1, foreign, speedup=4.0)
    intents = set()
    for seed in range(30):
        (child,) = proposer.propose(
            sample_brief(sample_task(), operator=Operator.MUTATE, parents=(parent,), history=(parent,), seed=seed)
        )
        if child.origin.recipe:
            continue  # a hop
        assert child.files == (file,)
        assert child.flags[0] == "-DX=1"
        assert child.flags != foreign.flags
        intents.add(child.origin.intent)
    assert "parent: opt O2 -> O3" in intents


def test_says_why_it_cannot_serve_a_task(proposer: Proposer) -> None:
    with pytest.raises(ProposerError, match="at these sizes"):
        proposer.propose(sample_brief(sample_task().model_copy(update={"platform": "cuda"})))
    with pytest.raises(ProposerError, match="no recipe for 'triple', and Inductor is not asked here"):
        proposer.propose(sample_brief(sample_task("triple")))


def test_one_core_leaves_no_choice_of_threads(proposer: Proposer) -> None:
    brief = sample_brief(sample_task(), n_wanted=10_000)
    facts = SAMPLE_FACTS.model_copy(update={"n_cores": 1, "isa": ("avx2",)})
    found = proposer.propose(brief.model_copy(update={"facts": facts}))
    assert {candidate.origin.parameters.get("threads") for candidate in found} == {None, "1"}
    assert {candidate.origin.recipe for candidate in found} == {"double/plain", "double/blocks"}
    assert not any("width" in candidate.origin.parameters for candidate in found)
