"""What becomes of answers: repeats, oversized ones, unreadable ones, limits, failures, and winners from elsewhere."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kernelevolve.campaign.assemble import winners_elsewhere
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.ledger import EventLedger, spent
from kernelevolve.campaign.loop import run_journal
from kernelevolve.errors import MachineError, ProposerError, RecordError
from kernelevolve.model.brief import Brief, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Answered, Event, Settings
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import Outcome
from kernelevolve.proposers.base import Usage
from kernelevolve.search import make_policy
from kernelevolve.search.tree import Tree
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_opened
from tests.campaign.paid import TOKENS, PaidProposer, Provider, assert_books_balance, outcomes
from tests.campaign.parts import QUICK, CountingFarm, ListProposer, Memory, numbered, run

FEW = QUICK.model_copy(update={"max_candidates": 4})


def written(text: str) -> Candidate:
    return Candidate(language="cpp", files=(SourceFile(path="k.cpp", text=text),), origin=Origin(proposer="test"))


def run_paid(
    settings: Settings, provider: Provider, store: MemoryStore, campaign: str, farm: CountingFarm | None = None
) -> list[Event]:
    journal = Journal(store=store, campaign_id=campaign, listeners=(), clock=time.monotonic)
    run_journal(
        journal, proposer=PaidProposer(EventLedger(journal), provider), policy=make_policy("greedy", settings),
        farm=farm or CountingFarm(), sleep=lambda wait_s: None,
    )  # fmt: skip
    return store.read(campaign)


def messages(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Answered)]


def test_a_near_duplicate_causes_no_job() -> None:
    """PS5: one that insists is booked with the original's verdict, compiled and timed by nobody."""
    farm, n = CountingFarm(), iter(range(1000))
    proposer = ListProposer(lambda brief: [written(f"int f(){{return 1;}}  // attempt {next(n)}\n")])
    _, events, tree = run(settings=FEW, proposer=proposer, farm=farm)
    assert farm.levels()["screen"] == 1
    assert farm.n_submitted == len(farm.jobs)
    assert [node.same_as for node in tree.nodes] == [None, 1, 1, 1]
    assert len({node.candidate_id for node in tree.nodes}) == 4
    assert "only repeats" in messages(events)[1]


def test_what_a_brief_showed_is_recorded_with_the_answer() -> None:
    proposer = ListProposer(lambda brief: numbered(*range(brief.n_proposed + 1, brief.n_proposed + 1 + brief.n_wanted)))
    _, events, tree = run(settings=QUICK.model_copy(update={"max_candidates": 12}), proposer=proposer)
    answers = {event.ask: event for event in events if isinstance(event, Answered)}
    assert all(answer.items for answer in answers.values())
    mutated = [asked for asked in tree.asks.values() if asked.move.operator is Operator.MUTATE]
    assert mutated
    for asked in mutated:
        assert any(str(asked.move.parents[0]) in item for item in answers[asked.ask].items)


def test_what_failed_has_no_score_and_is_no_parent() -> None:
    """PS52"""
    _, _, tree = run(settings=QUICK.model_copy(update={"max_candidates": 40}))
    failed = [node for node in tree.nodes if node.verdict and node.verdict.outcome is not Outcome.CORRECT]
    assert failed
    assert all(node.score is None and not node.usable for node in failed)
    assert not {node.step for node in failed} & {node.step for node in tree.frontier()}


@pytest.mark.parametrize("kind", ["files", "bytes"])
def test_what_is_too_big_is_refused_before_it_is_judged(kind: str) -> None:
    def answer(brief: Brief) -> list[Candidate]:
        if brief.ask > 1:
            return [written(f"int a{brief.ask};")]
        if kind == "bytes":
            return [written("//" + "x" * (1 << 20))]
        files = tuple(SourceFile(path=f"f{number}.h", text="") for number in range(65))
        return [Candidate(language="cpp", files=files, origin=Origin(proposer="test"))]

    _, events, tree = run(settings=FEW, proposer=ListProposer(answer))
    assert "was refused" in messages(events)[0]
    assert len(tree) == 4
    assert all(len(node.candidate.source) < 100 for node in tree.nodes)


def test_unreadable_answers_are_forgiven_longer_than_empty_ones() -> None:
    def garbage(brief: Brief) -> list[Candidate]:
        if brief.ask % 6:
            raise RecordError("not a candidate")
        return numbered(brief.ask)

    assert len(run(settings=FEW, proposer=ListProposer(garbage))[2]) == 4
    asked: list[int] = []

    def silent(brief: Brief) -> list[Candidate]:
        asked.append(brief.ask)
        return []

    closed, _, _ = run(settings=FEW, proposer=ListProposer(silent))
    assert asked == [1, 2, 3]
    assert "nothing more to propose" in closed.reason


def test_a_proposer_that_is_down_for_a_while_does_not_end_the_campaign() -> None:
    waits: list[float] = []
    calls: list[Brief] = []

    def shaky(brief: Brief) -> list[Candidate]:
        calls.append(brief)
        if 2 <= len(calls) <= 5:
            raise MachineError("503")
        return numbered(brief.n_proposed + 1)

    _, events, tree = run(settings=FEW, proposer=ListProposer(shaky), sleep=waits.append)
    assert len(tree) == 4
    assert waits == sorted(waits)
    assert len(waits) == 4
    assert len({brief.content_id for brief in calls[1:6]}) == 1, "the same question, word for word"
    assert [event.kind for event in events].count("asked") == 4


def test_a_proposer_that_stays_down_ends_the_run_and_the_question_stays_open() -> None:
    store, n_calls = MemoryStore(), iter(range(1000))
    campaign = store.open_campaign(sample_opened(FEW))

    def dying(brief: Brief) -> list[Candidate]:
        if next(n_calls) >= 1:
            raise MachineError("endpoint unreachable")
        return numbered(1)

    with pytest.raises(MachineError, match="unreachable"):
        run(settings=FEW, store=store, campaign=campaign, proposer=ListProposer(dying))
    tree = Tree(store.read(campaign))
    assert [asked.ask for asked in tree.open_asks] == [2]
    assert not tree.pending
    assert tree.closed is None
    _, events, tree = run(
        settings=FEW, store=store, campaign=campaign, proposer=ListProposer(lambda b: numbered(b.n_proposed + 1))
    )
    assert len(tree) == 4
    assert [event.kind for event in events].count("asked") == 4


def test_who_cannot_serve_at_all_says_so_and_later_only_ends_the_search() -> None:
    def refuse(brief: Brief) -> list[Candidate]:
        if brief.n_proposed:
            raise ProposerError("no recipe left")
        return numbered(1)

    closed, events, tree = run(settings=FEW, proposer=ListProposer(refuse))
    assert len(tree) == 1
    assert messages(events)[1:] == ["cannot serve: no recipe left"] * 3
    assert "nothing more to propose" in closed.reason


@pytest.mark.parametrize("n_asks", [1, 3])
def test_a_limit_on_tokens_ends_the_search_and_is_never_passed(tmp_path: Path, n_asks: int) -> None:
    limits = {"max_candidates": 50, "max_tokens": 5 * TOKENS + 20, "n_asks": n_asks, "n_drafts": 1}
    settings = QUICK.model_copy(update=limits)
    store, provider = MemoryStore(), Provider(tmp_path / "served")
    events = run_paid(settings, provider, store, store.open_campaign(sample_opened(settings)))
    tree = Tree(events)
    assert sum(provider.served().values()) == 5
    assert spent(tree).tokens == 5 * TOKENS
    assert tree.closed is not None
    assert "tokens" in tree.closed.reason
    assert not tree.open_asks
    assert_books_balance(tree, provider.served())


class Overcautious:
    """Sets ten times aside of what it takes."""

    name = "overcautious"

    def __init__(self, ledger: EventLedger) -> None:
        self._ledger = ledger

    def propose(self, brief: Brief) -> list[Candidate]:
        call = self._ledger.reserve(ask=brief.ask, model="m", request=brief.content_id, tokens=100, usd=None)
        time.sleep(0.01)
        self._ledger.settle(call, Usage(outcome="answered", tokens_in=10, answer="x"))
        return numbered(brief.ask)


def test_a_question_waits_for_what_open_calls_may_give_back() -> None:
    settings = QUICK.model_copy(update={"max_candidates": 50, "max_tokens": 150, "n_asks": 3, "n_drafts": 1})
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(settings))
    journal = Journal(store=store, campaign_id=campaign, listeners=(), clock=time.monotonic)
    policy = make_policy("greedy", settings)
    run_journal(journal, proposer=Overcautious(EventLedger(journal)), policy=policy, farm=CountingFarm())
    assert spent(journal.tree).tokens == 60  # the seventh could have passed the limit
    assert len(journal.tree) == 6
    assert len(journal.tree.asks) <= 6 + settings.n_asks  # none was given up while another could still give back


def test_failed_and_cancelled_calls_are_in_the_books(tmp_path: Path) -> None:
    """PS29"""

    class Shaky(Provider):
        def call(self, request: str, seed: int, n: int) -> str:
            answer = super().call(request, seed, n)
            number = sum(self.served().values())
            if number % 4 == 1:
                raise ConnectionError("the stream ended")
            return "null" if number % 4 == 2 else answer

    settings = QUICK.model_copy(update={"max_candidates": 8, "max_tokens": 10**6})
    store, provider = MemoryStore(), Shaky(tmp_path / "served")
    tree = Tree(run_paid(settings, provider, store, store.open_campaign(sample_opened(settings))))
    assert len(tree) == 8
    assert outcomes(tree)["failed"] >= 2
    assert spent(tree).tokens == TOKENS * sum(provider.served().values())
    assert_books_balance(tree, provider.served())


def test_resuming_a_finished_campaign_costs_no_call_and_no_job(tmp_path: Path) -> None:
    """PS53"""
    settings = FEW.model_copy(update={"max_tokens": 10**6})
    store, provider, farm = MemoryStore(), Provider(tmp_path / "served"), CountingFarm()
    campaign = store.open_campaign(sample_opened(settings))
    events = run_paid(settings, provider, store, campaign)
    served = provider.served()
    assert run_paid(settings, provider, store, campaign, farm) == events
    assert (provider.served(), farm.jobs) == (served, [])


def test_an_answer_that_was_paid_for_is_not_bought_again(tmp_path: Path) -> None:
    """PS53: the run ended between the answer and its record; the question is put again, word for word."""

    class Stop(Memory):
        def on_event(self, event: Event) -> None:
            super().on_event(event)
            if event.kind == "settled":
                raise KeyboardInterrupt

    settings = FEW.model_copy(update={"max_tokens": 10**6, "max_candidates": 1})
    store, provider = MemoryStore(), Provider(tmp_path / "served")
    campaign = store.open_campaign(sample_opened(settings))
    journal = Journal(store=store, campaign_id=campaign, listeners=[Stop()], clock=time.monotonic)
    with pytest.raises(KeyboardInterrupt):
        run_journal(
            journal, proposer=PaidProposer(EventLedger(journal), provider), policy=make_policy("greedy", settings),
            farm=CountingFarm(),
        )  # fmt: skip
    tree = Tree(run_paid(settings, provider, store, campaign))
    assert sum(provider.served().values()) == len(tree.reserved) == 1


def test_drafts_begin_with_winners_from_elsewhere_at_the_rate_that_is_set() -> None:
    winners = [written(f"int won{number};") for number in range(3)]

    def started(rate: float) -> tuple[list[Candidate], Tree]:
        settings = QUICK.model_copy(update={"max_candidates": 12, "n_drafts": 12, "inject_rate": rate})
        tree = run(settings=settings, winners=winners)[2]
        return [node.candidate for node in tree.nodes if node.candidate in winners], tree

    assert started(0.0)[0] == []
    all_of_them, tree = started(1.0)
    assert all_of_them == winners
    assert [node.step for node in tree.nodes if node.candidate in winners] == [1, 2, 3]
    assert all(
        node.move.operator is Operator.DRAFT and "earlier campaign" in node.move.reason for node in tree.nodes[:3]
    )
    assert 1 <= len(started(0.3)[0]) <= 3
    assert started(0.3)[0] == started(0.3)[0]


def test_winners_are_looked_for_in_the_store_and_say_where_they_come_from() -> None:
    store = MemoryStore()
    done = store.open_campaign(sample_opened(QUICK))
    run(store=store, campaign=done)
    opened = sample_opened(QUICK.model_copy(update={"inject_rate": 0.5}), time="2026-01-03T00:00:00+00:00")
    campaign = store.open_campaign(opened)
    winners = winners_elsewhere(store, campaign, opened)
    assert winners
    assert all(done in winner.origin.intent for winner in winners)
    assert winners_elsewhere(store, campaign, sample_opened(QUICK)) == []
