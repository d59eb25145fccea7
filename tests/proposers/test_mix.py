"""Several proposers as one: who is asked, what a failure does, and that no figure is ever without a value."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.errors import MachineError, ProposerError, SpentError, UsageError
from kernelevolve.model.brief import Attempt, Brief, Spent
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import Outcome
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer, Tools
from kernelevolve.proposers.ledger import MemoryLedger
from kernelevolve.proposers.mix.bandit import choose, standings
from kernelevolve.proposers.mix.proposer import LabelledLedger, MixProposer
from kernelevolve.testing.proposer_case import ProposerCase, sample_brief
from kernelevolve.testing.samples import sample_task

TASK = sample_task()


def candidate(name: str, number: int) -> Candidate:
    file = SourceFile(path="a.cpp", text=f"// {name} {number}\n")
    return Candidate(language="cpp", files=(file,), origin=Origin(proposer=name, intent="x"))


def attempt(step: int, name: str, speedup: float | None, parent: float | None = 1.0) -> Attempt:
    outcome = Outcome.CORRECT if speedup is not None else Outcome.WRONG
    return Attempt(
        step=step, candidate=candidate(name, step), outcome=outcome, speedup=speedup, parent_speedup=parent
    )  # fmt: skip


class Arm:
    """Brings numbered candidates under its name, or raises."""

    def __init__(self, name: str, error: Exception | None = None, *, at_most: int = 99) -> None:
        self.name = name
        self.error = error
        self.at_most = at_most
        self.n_asked = 0

    def propose(self, brief: Brief) -> list[Candidate]:
        self.n_asked += 1
        if self.error:
            raise self.error
        first = len(brief.history)
        return [candidate(self.name, 1000 + first + n) for n in range(min(self.at_most, brief.n_wanted))]


def mix(*arms: Arm, tools: Tools | None = None) -> MixProposer:
    return MixProposer({arm.name: arm for arm in arms}, tools or Tools())


class TestMixProposer(ProposerCase):
    def make_proposer(self, folder: Path) -> Proposer:
        lists = []
        for name in ("one", "two"):
            path = folder / f"{name}.jsonl"
            path.write_text("".join(candidate(name, number).to_json() + "\n" for number in range(30)))
            lists.append(f"replay:{path}")
        return make_proposer(f"mix:{','.join(lists)}")


def played(arms: dict[str, float], n_steps: int, *, spent: tuple[Spent, ...] = (), seed: int = 0) -> Counter[str]:
    """A campaign of attempts, whose gain is the arm's; counts how often each was chosen."""
    history: list[Attempt] = []
    chosen: Counter[str] = Counter()
    for step in range(1, n_steps + 1):
        brief = sample_brief(TASK, history=tuple(history), seed=seed * 1000 + step)
        calls = tuple(
            item.model_copy(update={"n_calls": chosen[item.name], "usd": (item.usd or 0) * chosen[item.name]})
            for item in spent
            if chosen[item.name]
        )
        name = next(iter(choose(brief.model_copy(update={"spent": calls}), tuple(arms))))
        chosen[name] += 1
        gain = arms[name] * (1 + 0.3 * math.sin(step))
        history.append(attempt(step, name, math.exp(gain)))
    return chosen


def test_the_better_one_is_asked_more_often_and_the_other_still_now_and_then() -> None:
    counts = sum((played({"good": 0.3, "poor": 0.02}, 80, seed=seed) for seed in range(5)), Counter())
    assert counts["good"] > 2.5 * counts["poor"]
    assert counts["poor"] >= 5


def test_of_two_equals_the_cheap_one_is_asked_more_often() -> None:
    spent = (Spent(name="dear", n_calls=1, tokens=0, usd=0.5),)
    counts = sum((played({"cheap": 0.1, "dear": 0.1}, 80, spent=spent, seed=seed) for seed in range(5)), Counter())
    assert counts["cheap"] > 1.5 * counts["dear"]


def test_every_one_is_tried_before_any_is_tried_again() -> None:
    names = ("a", "b", "c", "d")
    history: list[Attempt] = []
    for step in range(1, 5):
        chosen = next(iter(choose(sample_brief(TASK, history=tuple(history), seed=step), names)))
        history.append(attempt(step, chosen, None))
    assert sorted(item.candidate.origin.proposer for item in history) == list(names)
    assert choose(sample_brief(TASK, n_wanted=4), names) == dict.fromkeys(
        choose(sample_brief(TASK, n_wanted=4), names), 1
    )


def test_one_in_work_counts_as_tried() -> None:
    brief = sample_brief(TASK).model_copy(update={"in_flight": (candidate("a", 1),)})
    assert next(iter(choose(brief, ("a", "b")))) == "b"


def test_paid_calls_that_bring_nothing_count_against_it() -> None:
    history = (attempt(1, "a", 1.2), attempt(2, "b", 1.2))
    spent = (Spent(name="b", n_calls=9, tokens=900, usd=None),)
    brief = sample_brief(TASK, history=history).model_copy(update={"spent": spent})
    a, b = standings(brief, ("a", "b"))
    assert (b.lost - a.lost) > 7.5
    assert (a.price, b.price) == (1.0, 2.0)


def test_a_repeat_wins_nothing() -> None:
    best = attempt(1, "a", 2.0)
    again = best.model_copy(update={"step": 2, "candidate": best.candidate.model_copy(
        update={"origin": Origin(proposer="b")})})  # fmt: skip
    _, b = standings(sample_brief(TASK, history=(best, again)), ("a", "b"))
    assert (b.won, b.lost) == (0.0, 1.0)


NAMES = st.sampled_from(["a", "b", "c", "stranger"])
FIGURES = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
CALLS = st.builds(
    Spent, name=NAMES, n_calls=st.integers(0, 10**9), tokens=st.integers(0, 10**12),
    usd=st.one_of(st.none(), st.floats(0, 1e300)),
)  # fmt: skip


@given(
    history=st.lists(st.tuples(NAMES, FIGURES, FIGURES), max_size=30),
    calls=st.lists(CALLS, max_size=4),
    names=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3, unique=True),
    n_wanted=st.integers(1, 9),
)
def test_no_figure_is_ever_without_a_value(
    history: list[tuple[str, float | None, float | None]], calls: list[Spent], names: list[str], n_wanted: int
) -> None:
    """PS22"""
    attempts = tuple(attempt(step, *item) for step, item in enumerate(history, 1))
    brief = sample_brief(TASK, history=attempts, n_wanted=n_wanted).model_copy(update={"spent": tuple(calls)})
    for standing in standings(brief, names):
        assert all(map(math.isfinite, (standing.won, standing.lost, standing.price)))
        assert standing.won >= 0
        assert standing.lost >= 0
        assert 1 <= standing.price <= 2
    shares = choose(brief, names)
    assert sorted(shares) == sorted(names)
    assert sum(shares.values()) == n_wanted
    assert choose(brief, names) == shares


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.floats(0.1, 10)), min_size=1, max_size=20), st.integers(1, 9))
def test_the_scale_of_speedups_does_not_matter(history: list[tuple[str, float]], power: int) -> None:
    """PS17"""
    plain = tuple(attempt(step, *item) for step, item in enumerate(history, 1))
    scaled = tuple(attempt(step, name, speedup**power) for step, (name, speedup) in enumerate(history, 1))
    distinct = len({speedup for _, speedup in history}) == len({speedup**power for _, speedup in history})
    if distinct:
        names = ("a", "b")
        assert standings(sample_brief(TASK, history=plain), names) == standings(
            sample_brief(TASK, history=scaled), names
        )


@pytest.mark.parametrize(
    "error", [ProposerError("no such task"), MachineError("no answer"), SpentError("spent"), ProposerError("")]
)
def test_a_failing_one_is_named_and_another_stands_in(error: Exception) -> None:
    said: list[str] = []
    bad, good = Arm("bad", error), Arm("good")
    for seed in range(6):
        brief = sample_brief(TASK, seed=seed, n_wanted=3)
        found = mix(bad, good, tools=Tools(say=said.append)).propose(brief)
        assert 1 <= len(found) <= 3
        assert {item.origin.proposer for item in found} == {"good"}
    assert bad.n_asked == 6
    assert all(text.startswith("mix: bad is left out of question 0") for text in said)


def test_one_that_brings_less_than_wanted_is_made_up_for() -> None:
    history = (attempt(1, "few", 9.0), attempt(2, "many", None))
    brief = sample_brief(TASK, history=history, n_wanted=5, seed=next(
        seed for seed in range(99)
        if next(iter(choose(sample_brief(TASK, history=history, n_wanted=5, seed=seed), ("few", "many")))) == "few"
    ))  # fmt: skip
    found = mix(Arm("few", at_most=1), Arm("many")).propose(brief)
    assert Counter(item.origin.proposer for item in found) == {"few": 1, "many": 4}


def test_when_nothing_comes_the_campaign_hears_why() -> None:
    brief = sample_brief(TASK)
    with pytest.raises(ProposerError, match=r"a: x; b: y|b: y; a: x"):
        mix(Arm("a", ProposerError("x")), Arm("b", ProposerError("y"))).propose(brief)
    with pytest.raises(SpentError):
        mix(Arm("a", ProposerError("x")), Arm("b", SpentError("y"))).propose(brief)
    with pytest.raises(MachineError):
        mix(Arm("a", SpentError("x")), Arm("b", MachineError("y"))).propose(brief)
    assert mix(Arm("a", ProposerError("x")), Arm("b", at_most=0)).propose(brief) == []


def test_candidates_carry_the_name_they_are_counted_under(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(candidate("someone else", 1).to_json() + "\n")
    found = make_proposer(f"mix:replay:{path},fake").propose(sample_brief(TASK, n_wanted=2))
    assert sorted(item.origin.proposer for item in found) == ["fake", "replay"]


def test_calls_are_booked_under_the_name_in_the_mix() -> None:
    booked: list[str] = []

    class Book(MemoryLedger):
        def reserve(self, *, ask: int, model: str, request: str, tokens: int, usd: float | None) -> int:
            booked.append(model)
            return super().reserve(ask=ask, model=model, request=request, tokens=tokens, usd=usd)

    ledger = LabelledLedger(Book())
    ledger.label = "openai:m"
    ledger.reserve(ask=1, model="m", request="r", tokens=1, usd=0.0)
    assert booked == ["openai:m"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mix", "at least two"),
        ("mix:fake", "at least two"),
        ("mix:fake,", "at least two"),
        ("mix:fake,fake", "twice"),
        ("mix:fake,mix:fake,builtin", "a mix cannot be part of a mix"),
        ("mix:fake,oracle", "unknown proposer 'oracle'"),
    ],
)
def test_a_wrong_mix_says_what_is_wrong(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_proposer(name)
