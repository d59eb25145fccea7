from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelevolve.briefs.render import render
from kernelevolve.campaign.brief import BriefWriter
from kernelevolve.campaign.changes import MAX_DIFF_LINES, change_of, short_diff
from kernelevolve.campaign.remembering import Counts
from kernelevolve.model.brief import Brief, Memory, Move, Operator, Role
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Asked, Diagnosed, Event, Insight, Judged, Reserved
from kernelevolve.model.task import ShapeSets, SourceFile
from kernelevolve.model.verdict import Mismatch, Outcome
from kernelevolve.search.tree import Tree
from kernelevolve.testing.policy_case import make_tree
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
    sample_verdict,
)
from tests.briefs.trees import cpp, cpu_campaign, cross, mutate, rendered
from tests.campaign.parts import QUICK

MUTATE = Move(operator=Operator.MUTATE, parents=(1,))


def write(events: list[Event], move: Move = MUTATE) -> Brief:
    opened = sample_opened(QUICK)
    return BriefWriter(opened=opened, tree=Tree([opened, *events])).write(move, ask=1)


def test_a_brief_tells_parents_and_history() -> None:
    brief = write(
        [
            sample_proposed(1),
            sample_judged(1, speedup=2.0),
            sample_proposed(2, move=MUTATE),
            sample_judged(2, speedup=3.0),
            sample_proposed(3),
            sample_judged(3, outcome=Outcome.CRASHED),
            sample_proposed(4),
        ],
        Move(operator=Operator.CROSS, parents=(2, 1)),
    )
    assert [attempt.step for attempt in brief.parents] == [2, 1]
    assert [attempt.step for attempt in brief.history] == [1, 2, 3]
    assert (brief.history[1].speedup, brief.history[1].parent_speedup) == (3.0, 2.0)
    assert (brief.history[2].outcome, brief.history[2].message) == (Outcome.CRASHED, "sample crashed")
    assert brief.remaining == QUICK.max_candidates - 4
    assert brief.n_proposed == 4
    assert brief.in_flight == (sample_candidate(4),)


def test_hidden_shapes_are_told_nowhere() -> None:
    mismatch = Mismatch(tensor="out", shape={"N": 4099}, n_wrong=7, n_total=4099, got="1.5", expected="3.0")
    message = "wrong at N=4099, {'N': 4099}, N = 7013; fine at N=100"
    verdict = sample_verdict(sample_candidate(1), outcome=Outcome.WRONG)
    verdict = verdict.model_copy(update={"mismatch": mismatch, "message": message})
    brief = write([sample_proposed(1), Judged(step=1, verdict=verdict, elapsed_s=1.0)])
    assert brief.task.shapes == ShapeSets(shown=({"N": 100},))
    told = brief.history[0].message
    assert "4099" not in told
    assert "7013" not in told
    assert "N=100" in told
    assert "out: 7 of" in told
    assert "got 1.5, expected 3.0" in told


def test_seeds_depend_on_the_campaign_and_the_question_only() -> None:
    opened = sample_opened(QUICK)
    writer = BriefWriter(opened=opened, tree=Tree([opened]))
    draft = Move(operator=Operator.DRAFT)
    assert writer.write(draft, ask=1).seed == writer.write(draft, ask=1, n_wanted=3).seed
    assert len({writer.write(draft, ask=ask).seed for ask in (1, 2, 3)}) == 3
    assert writer.write(draft, ask=1, seed=7).seed == 7


def roles(brief: Brief) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for item in brief.remembered:
        found.setdefault(item.role.value, []).append(item.attempt.step)
    return found


@pytest.mark.parametrize(
    ("move", "wanted"),
    [
        (mutate(4, Memory.CLEAN), {}),
        (mutate(4, Memory.LINEAGE), {"lineage": [1, 2], "parent": [4], "best": [3], "failure": [6, 8]}),
        (mutate(4, Memory.SIBLINGS), {"parent": [4], "sibling": [7, 5, 6], "best": [3]}),
        (mutate(4, Memory.BOTH),
         {"lineage": [1, 2], "parent": [4], "sibling": [7, 5, 6], "best": [3], "failure": [8]}),
        (cross(7, 9),
         {"lineage": [1, 2, 4], "parent": [7, 9], "best": [3], "failure": [10, 6, 8]}),
        (cross(7, 3), {"lineage": [1, 2, 4], "parent": [7, 3], "best": [4], "failure": [10, 6, 8]}),
        (Move(operator=Operator.DRAFT, memory=Memory.LINEAGE), {"best": [3], "failure": [10, 8, 6]}),
    ],
)  # fmt: skip
def test_memory_selects_what_is_remembered(move: Move, wanted: dict[str, list[int]]) -> None:
    found = roles(cpu_campaign().brief(move))
    if move.parents == (7, 3):
        found.pop("best"), wanted.pop("best")  # whichever is next in the ranking
    if move.memory is Memory.SIBLINGS:
        found.pop("failure", None)
    assert found == wanted


def test_the_best_elsewhere_says_by_what() -> None:
    """By the lower end of the interval a sure 2x is before a shaky 3x, which is told as well."""
    made = cpu_campaign()
    shaky = sample_verdict(sample_candidate(90), speedup=3.0, spread=0.9)
    step = made.add(sample_candidate(90), verdict=shaky)
    best = [item for item in made.brief(mutate(4)).remembered if item.role is Role.BEST]
    assert [(item.attempt.step, item.why) for item in best] == [
        (3, "ranks first by the lower end of its interval"),
        (step, "the highest estimate, which is no proof"),
    ]
    text = render(made.brief(mutate(4)), tokens=9000).text
    assert "- step 3, a new start, ranks first by the lower end of its interval: " in text
    assert Role.BEST not in {item.role for item in made.brief(mutate(4), counts=Counts(n_best=0)).remembered}


def test_the_second_lineage_has_a_role_of_its_own() -> None:
    brief = cpu_campaign().brief(cross(9, 5))
    assert roles(brief)["other_lineage"] == [2, 4]
    assert roles(brief)["lineage"] == [1]


def test_what_is_remembered_says_what_it_changed() -> None:
    brief = cpu_campaign().brief(mutate(4, Memory.BOTH))
    by_step = {item.attempt.step: item for item in brief.remembered}
    assert (by_step[2].change, by_step[2].parent, by_step[2].attempt.speedup) == ("width 1 -> 4", 1, 1.4)
    assert "-    for (int64_t n = 0; n < N; n += 1)\n" in by_step[2].diff
    assert (by_step[3].parent, by_step[3].diff) == (None, "")


def test_a_clean_start_hears_only_what_is_about_no_step() -> None:
    made = cpu_campaign()
    assert [note.number for note in made.brief(mutate(4)).notes] == [1, 2]
    (note,) = made.brief(mutate(4, Memory.CLEAN)).notes
    assert note.text == "N=(hidden) is slow on this machine."
    assert len(made.brief(mutate(4)).history) == 10, "bookkeeping is whole, whatever the memory"


@pytest.mark.parametrize("memory", [Memory.CLEAN, Memory.LINEAGE, Memory.SIBLINGS, Memory.BOTH])
def test_the_same_brief_comes_out_of_the_events_up_to_the_question(memory: Memory) -> None:
    """What came after a question does not change its brief: it is written again byte for byte on resume."""
    made = cpu_campaign()
    seq = len(made.events)
    move = mutate(4, memory)
    then = made.brief(move, ask=3)
    made.events += [Asked(ask=3, move=move, seq=seq, elapsed_s=20.0)]
    made.events += [Reserved(call=1, ask=3, model="m", request="r", tokens=9, elapsed_s=20.0)]
    made.events += [Diagnosed(step=5, diagnosis=Diagnosis(bottleneck=Bottleneck.COMPUTE))]
    made.add(cpp(3, "later"), pending=True)
    made.events[-1] = made.events[-1].model_copy(update={"step": 12})
    made.events += [sample_judged(12, speedup=9.0), Insight(number=3, text="later", elapsed_s=21.0)]
    again = made.brief(move, ask=3, seq=seq)
    assert again.to_json() == then.to_json()
    assert rendered(again).text == rendered(then).text
    assert made.brief(move, ask=3).to_json() != then.to_json()


def test_one_writer_tells_what_a_growing_tree_tells() -> None:
    made = cpu_campaign()
    tree = Tree(made.events[:1])
    writer = BriefWriter(opened=made.opened, tree=tree)
    for number, event in enumerate(made.events[1:], start=2):
        tree.append(event)
        if len(tree):
            move = Move(operator=Operator.DRAFT, memory=Memory.LINEAGE)
            assert writer.write(move, ask=1).to_json() == made.brief(move, seq=number).to_json()


@given(
    st.lists(st.sampled_from([1.5, 2.0, 1.1, 0, -1, None]), max_size=25),
    st.integers(0, 99),
    st.sampled_from(Memory),
    st.integers(0, 4),
)
@settings(deadline=None, max_examples=60, database=None, suppress_health_check=[HealthCheck.differing_executors])
def test_counts_hold_and_nothing_is_told_twice(
    fates: list[float | int | None], shape: int, memory: Memory, n: int
) -> None:
    tree = make_tree(fates, shape)
    assert tree.opened is not None
    counts = Counts(n_lineage=n, n_siblings=n, n_best=n, n_failures=n)
    writer = BriefWriter(opened=tree.opened, tree=tree, counts=counts)
    for node in tree.nodes:
        if node.pending:
            continue
        brief = writer.write(Move(operator=Operator.MUTATE, parents=(node.step,), memory=memory), ask=1)
        steps = [item.attempt.step for item in brief.remembered]
        assert len(set(steps)) == len(steps)
        assert not any(tree.node(step).pending for step in steps)
        for role in (Role.LINEAGE, Role.SIBLING, Role.BEST, Role.FAILURE):
            assert sum(item.role is role for item in brief.remembered) <= n
        lineage = [item.attempt.step for item in brief.remembered if item.role is Role.LINEAGE]
        assert lineage == sorted(lineage)
        assert bool(brief.remembered) is (memory is not Memory.CLEAN)


def made_of(text: str, *, path: str = "a.cpp", intent: str = "", flags: tuple[str, ...] = ()) -> Candidate:
    files = (SourceFile(path=path, text=text),)
    return Candidate(language="cpp", files=files, flags=flags, origin=Origin(proposer="x", intent=intent))


def test_changes_in_a_sentence() -> None:
    old = made_of("a\nb\nc")
    assert change_of(made_of("x", intent="faster"), old) == "faster"
    assert change_of(made_of("x"), None) == "a new kernel"
    assert change_of(made_of("x"), old) == "changed a.cpp"
    assert change_of(made_of("x", path="b.cpp"), old) == "changed b.cpp, a.cpp"
    assert change_of(made_of("a\nb\nc", flags=("-O2",)), old) == "flags -O2"
    assert change_of(old, old) == "nothing"
    assert short_diff(made_of("a\nB\nc", flags=("-O2",)), old) == "--- a.cpp\n-b\n+B\n-flags \n+flags -O2"
    assert short_diff(old, None) == ""


def test_a_diff_of_huge_sources_is_not_made() -> None:
    old = made_of("\n".join(f"line {n}" for n in range(50_000)))
    new = made_of("\n".join(f"line {n * 7}" for n in range(50_000)))
    assert short_diff(new, old) == ""
    near = made_of(old.source.replace("line 77\n", "line 78\n"))
    assert short_diff(near, old) == "--- a.cpp\n-line 77\n+line 78"
    many = made_of("\n".join("x" * n for n in range(MAX_DIFF_LINES)))
    assert short_diff(many, made_of("")) == ""
    assert short_diff(made_of("y" * 9000), made_of("x")) == ""
