"""Questions and evaluations in flight together: neither side waits for the other, and a limit waits for nobody."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.ledger import EventLedger
from kernelevolve.campaign.loop import run_journal
from kernelevolve.campaign.questions import BATCH
from kernelevolve.errors import MachineError
from kernelevolve.farm.fake import fake_verdict
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Proposed, Settings
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Verdict
from kernelevolve.proposers.base import Ledger, Usage
from kernelevolve.search import make_policy
from kernelevolve.search.tree import Tree
from kernelevolve.store.memory import MemoryStore
from kernelevolve.store.sqlite import SqliteStore
from kernelevolve.testing.samples import sample_candidate, sample_opened
from tests.campaign.paid import number_candidate
from tests.campaign.parts import QUICK, CountingFarm, ListProposer, Memory, run

ROOT = Path(__file__).parents[2]
MANY = QUICK.model_copy(update={"n_asks": 4, "max_candidates": 12, "n_drafts": 4})


class Gauge:
    """How many are inside at once, and the most there ever were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def own(brief: Brief) -> list[Candidate]:
    return [sample_candidate(100 * brief.ask + number) for number in range(brief.n_wanted)]


def test_many_questions_are_open_at_once_and_no_more_than_allowed() -> None:
    gauge = Gauge()

    def slow(brief: Brief) -> list[Candidate]:
        with gauge:
            time.sleep(0.03)
        return own(brief)

    _, _, tree = run(settings=MANY, proposer=ListProposer(slow))
    assert len(tree) == 12
    assert gauge.most == 4
    assert not tree.open_asks


def test_a_slow_proposer_does_not_idle_the_farm_while_candidates_wait() -> None:
    """One question never comes back before the others are judged: all of those are judged meanwhile."""
    judged_meanwhile: list[int] = []
    others = threading.Event()
    heard = Memory()

    def answer(brief: Brief) -> list[Candidate]:
        if brief.ask == 1:
            others.wait(20)
            judged_meanwhile.append(sum(event.kind == "judged" for event in heard.events))
        return own(brief)

    class Farm(CountingFarm):
        def _evaluate(self, job: Job) -> Verdict:
            if len(self.jobs) == 7:
                others.set()
            return super()._evaluate(job)

    _, _, tree = run(settings=MANY, proposer=ListProposer(answer), farm=Farm(), listeners=[heard])
    assert len(tree) == 12
    assert judged_meanwhile[0] >= 6


def test_a_slow_farm_lets_questions_fill_the_reserve_and_no_further() -> None:
    gate, most = threading.Event(), []
    heard = Memory()

    def hold(job: Job) -> Verdict:
        gate.wait(20)
        return fake_verdict(job)

    def watch() -> None:
        time.sleep(0.5)
        most.append(sum(event.kind == "proposed" for event in heard.events))
        gate.set()

    threading.Thread(target=watch).start()
    _, _, tree = run(settings=MANY, proposer=ListProposer(own), farm=InlineFarm(hold), listeners=[heard])
    assert most == [BATCH + MANY.n_asks]
    assert len(tree) == 12


def test_the_judge_still_gets_no_more_than_a_batch_at_once() -> None:
    gauge = Gauge()

    class Watched(InlineFarm):
        def submit(self, job: Job):  # type: ignore[no-untyped-def]
            if job.level == "screen":
                gauge.__enter__()
            return super().submit(job)

    def judge(job: Job) -> Verdict:
        time.sleep(0.005)
        if job.level == "screen":
            gauge.__exit__()
        return fake_verdict(job)

    run(settings=MANY, proposer=ListProposer(own), farm=Watched(judge))
    assert gauge.most == BATCH


def test_repeats_among_open_questions_cost_one_job() -> None:
    """PS5"""
    farm = CountingFarm()

    def same(brief: Brief) -> list[Candidate]:
        time.sleep(0.01)
        return [sample_candidate(brief.ask // 3)]

    _, _, tree = run(settings=MANY, proposer=ListProposer(same), farm=farm)
    originals = [node for node in tree.nodes if node.same_as is None]
    assert farm.levels()["screen"] == len(originals) == len({node.normal_id for node in tree.nodes})
    assert not tree.pending


def test_a_machine_that_fails_in_a_thread_ends_the_run_with_its_error() -> None:
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(MANY))
    with pytest.raises(MachineError, match="fault"):
        run(
            settings=MANY, store=store, campaign=campaign, farm=CountingFarm(n_faults=10**6), proposer=ListProposer(own)
        )
    _, _, tree = run(settings=MANY, store=store, campaign=campaign, proposer=ListProposer(own))
    assert len(tree) == 12


def test_one_question_that_fails_for_good_lets_the_others_end_first() -> None:
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(MANY))

    def answer(brief: Brief) -> list[Candidate]:
        if brief.ask == 2:
            raise MachineError("endpoint unreachable")
        time.sleep(0.02)
        return own(brief)

    with pytest.raises(MachineError, match="unreachable"):
        run(settings=MANY, store=store, campaign=campaign, proposer=ListProposer(answer))
    tree = Tree(store.read(campaign))
    assert [asked.ask for asked in tree.open_asks] == [2]
    assert not tree.pending
    assert len(tree) >= 3


class Hanging:
    """Pays, and then waits for an answer that does not come."""

    name = "hanging"

    def __init__(self, ledger: Ledger, until: threading.Event, n_quick: int = 2) -> None:
        self._ledger = ledger
        self._until = until
        self._n_quick = n_quick
        self.refused: list[str] = []

    def propose(self, brief: Brief) -> list[Candidate]:
        call = self._ledger.reserve(ask=brief.ask, model="m", request=brief.content_id, tokens=10, usd=None)
        if brief.ask > self._n_quick:
            self._until.wait(120)
        self._ledger.settle(call, Usage(outcome="answered", tokens_in=4, tokens_out=1, answer="late"))
        if brief.ask > self._n_quick:
            try:
                self._ledger.reserve(ask=brief.ask, model="m", request="more", tokens=10, usd=None)
            except Exception as error:
                self.refused.append(str(error))
                raise
        return [number_candidate(brief.task.entry, 10 * brief.ask + number) for number in range(brief.n_wanted)]


@pytest.mark.parametrize("n_asks", [1, 3])
def test_what_comes_too_late_is_dropped(n_asks: int) -> None:
    """PS34: it raises nothing, overwrites nothing, and whoever is left behind can buy nothing more."""
    settings = MANY.model_copy(update={"n_asks": n_asks, "max_seconds": 0.4, "max_tokens": 10**6})
    store, until = MemoryStore(), threading.Event()
    campaign = store.open_campaign(sample_opened(settings))
    journal = Journal(store=store, campaign_id=campaign, listeners=(), clock=time.monotonic)
    proposer = Hanging(EventLedger(journal), until)
    closed = run_journal(journal, proposer=proposer, policy=make_policy("greedy", settings), farm=CountingFarm())
    assert "0.4 s of search spent" in closed.reason
    before = store.read(campaign)
    tree = Tree(before)
    assert not tree.open_asks
    lost = [settled for settled in tree.settled.values() if settled.outcome == "lost"]
    assert len(lost) == n_asks
    until.set()
    deadline = time.monotonic() + 5
    while len(proposer.refused) < n_asks and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(proposer.refused) == n_asks
    assert all("nobody waits" in text for text in proposer.refused)
    assert store.read(campaign) == before


def test_an_answer_after_the_limit_is_dropped_though_the_farm_still_works() -> None:
    late = threading.Event()
    settings = MANY.model_copy(update={"n_asks": 2, "max_seconds": 0.3})

    def answer(brief: Brief) -> list[Candidate]:
        if brief.ask > 1:
            late.wait(20)
        return own(brief)

    def slow(job: Job) -> Verdict:
        if job.level == "screen":
            time.sleep(0.5)
            late.set()
            time.sleep(0.2)
        return fake_verdict(job)

    _, events, tree = run(settings=settings, proposer=ListProposer(answer), farm=InlineFarm(slow), clock=time.monotonic)
    assert {event.ask for event in events if isinstance(event, Proposed)} == {1}
    assert [event.kind for event in events].count("answered") == len(tree.asks)


def hang(folder: str, n_asks: int) -> None:
    """In a process of its own: a campaign whose model never answers."""
    settings = Settings(
        proposer="hanging", platform="fake", n_asks=n_asks, max_seconds=1.0, max_candidates=50, max_tokens=10**6
    )
    store = SqliteStore(Path(folder))
    campaign = store.open_campaign(sample_opened(settings))
    journal = Journal(store=store, campaign_id=campaign, listeners=(), clock=time.monotonic)
    proposer = Hanging(EventLedger(journal), threading.Event())
    run_journal(journal, proposer=proposer, policy=make_policy("greedy", settings), farm=InlineFarm(fake_verdict))


@pytest.mark.parametrize("n_asks", [1, 8])
def test_at_the_limit_the_process_ends_within_seconds_though_calls_are_open(tmp_path: Path, n_asks: int) -> None:
    """PS4"""
    code = f"from tests.campaign.test_concurrency import hang; hang({str(tmp_path)!r}, {n_asks})"
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
    assert time.monotonic() - started < 1.0 + 10.0
    store = SqliteStore(tmp_path)
    tree = Tree(store.read(store.resolve("latest")))
    assert tree.closed is not None
    assert (tree.pending, tree.open_asks) == ([], [])
    assert len(tree) >= 1
