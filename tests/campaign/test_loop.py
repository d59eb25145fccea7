from __future__ import annotations

from collections import Counter

import pytest

from kernelevolve.errors import MachineError, ProposerError, RecordError
from kernelevolve.farm.fake import fake_verdict
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Judged, Opened, Proposed
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Verdict
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_opened
from tests.campaign.parts import (
    QUICK,
    Clock,
    CountingFarm,
    ListProposer,
    Memory,
    judge_by_number,
    numbered,
    run,
    without_times,
)


@pytest.mark.parametrize("policy", ["greedy", "uct", "random"])
def test_a_campaign_improves_on_its_drafts(policy: str) -> None:
    settings = QUICK.model_copy(update={"policy": policy, "max_candidates": 60})
    closed, events, tree = run(settings=settings)
    assert len(tree) == 60
    assert not tree.pending
    assert closed.winner is not None
    best = tree.best()
    assert best is not None
    assert best.step > settings.n_drafts
    assert [event.kind for event in events].count("sealed") == 1
    assert events[-1] == closed


def test_the_same_seed_gives_the_same_campaign_and_another_one_another() -> None:
    first, again = run()[1], run()[1]
    other = run(settings=QUICK.model_copy(update={"seed": 6}))[1]
    assert without_times(first) == without_times(again)
    assert without_times(first)[1:9] != without_times(other)[1:9]


def test_a_finished_campaign_is_not_run_again() -> None:
    store, farm = MemoryStore(), CountingFarm()
    campaign = store.open_campaign(sample_opened(QUICK))
    closed, events, _ = run(store=store, campaign=campaign)
    assert run(store=store, campaign=campaign, farm=farm)[:2] == (closed, events)
    assert not farm.jobs


def test_the_budget_of_candidates_is_kept() -> None:
    farm = CountingFarm()
    closed, _, tree = run(settings=QUICK.model_copy(update={"max_candidates": 7}), farm=farm)
    assert len(tree) == 7
    assert farm.levels()["screen"] <= 7
    assert "all 7 candidates" in closed.reason


def test_the_budget_of_time_is_kept_over_all_runs() -> None:
    settings = QUICK.model_copy(update={"max_seconds": 100.0})
    clock = Clock()

    class Slow(CountingFarm):
        def _evaluate(self, job: Job) -> Verdict:
            clock.now_s += 10.0
            if len(self.jobs) == 4:
                raise KeyboardInterrupt
            return super()._evaluate(job)

    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(settings))
    with pytest.raises(KeyboardInterrupt):
        run(settings=settings, store=store, campaign=campaign, clock=clock, farm=Slow())
    clock.now_s = 5000.0  # time between two runs is nobody's

    class Slower(CountingFarm):
        def _evaluate(self, job: Job) -> Verdict:
            clock.now_s += 10.0
            return super()._evaluate(job)

    closed, events, tree = run(settings=settings, store=store, campaign=campaign, clock=clock, farm=Slower())
    assert "100 s of search spent" in closed.reason
    assert 10 <= len(tree) <= 11
    times = [event.elapsed_s for event in events if isinstance(event, Proposed | Judged)]
    assert times == sorted(times)
    assert max(times) <= 120.0


def test_a_repeat_costs_no_job() -> None:
    farm = CountingFarm()
    same = numbered(1)[0]
    _, events, tree = run(
        settings=QUICK.model_copy(update={"max_candidates": 5}), proposer=ListProposer(lambda brief: [same]), farm=farm
    )
    assert farm.levels()["screen"] == 1
    assert [node.same_as for node in tree.nodes] == [None, 1, 1, 1, 1]
    assert all(node.verdict == tree.node(1).verdict for node in tree.nodes)
    assert sum(isinstance(event, Judged) for event in events) == 5


def test_a_repeat_within_a_batch_is_dropped() -> None:
    one, two = numbered(1, 2)

    def answer(brief: Brief) -> list[Candidate]:
        return [one] if not brief.history else [two]

    _, _, tree = run(settings=QUICK.model_copy(update={"max_candidates": 2}), proposer=ListProposer(answer))
    assert [node.candidate for node in tree.nodes] == [one, two]


def test_a_draw_that_repeats_is_drawn_again() -> None:
    seeds: list[int] = []

    def answer(brief: Brief) -> list[Candidate]:
        seeds.append(brief.seed)
        return numbered(1) if len(seeds) in (1, 2) else numbered(len(seeds))

    _, _, tree = run(settings=QUICK.model_copy(update={"max_candidates": 2}), proposer=ListProposer(answer))
    assert [node.same_as for node in tree.nodes] == [None, None]
    assert len(set(seeds)) == len(seeds) == 3


def test_machine_errors_are_repeated_and_never_scored() -> None:
    heard = Memory()
    plain = run()[1]
    farm = CountingFarm(n_faults=3)
    repeated = run(farm=farm, listeners=[heard])[1]
    assert without_times(repeated) == without_times(plain)
    assert [text for text in heard.texts if "machine failed" in text]


def test_a_machine_that_keeps_failing_ends_the_run_but_not_the_campaign() -> None:
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(QUICK))
    with pytest.raises(MachineError, match="fault"):
        run(store=store, campaign=campaign, farm=CountingFarm(n_faults=10**6))
    assert [event.kind for event in store.read(campaign)] == ["opened", "asked", "proposed", "proposed", "answered"]
    _, events, _ = run(store=store, campaign=campaign)
    assert without_times(events) == without_times(run()[1])


def test_an_answer_for_another_job_is_a_machine_error() -> None:
    def judge(job: Job) -> Verdict:
        return fake_verdict(job).model_copy(update={"candidate_id": "0" * 64})

    with pytest.raises(MachineError, match="another job"):
        run(farm=CountingFarm(judge))


def test_a_proposer_with_nothing_left_ends_the_search() -> None:
    speedups = {"screen": {1: 2.0, 2: 3.0, 3: 0}}
    closed, _, tree = run(proposer=ListProposer(numbered(1, 2, 3)), farm=CountingFarm(judge_by_number(speedups)))
    assert len(tree) == 3
    assert "nothing more to propose" in closed.reason
    assert closed.winner == 2


def test_nothing_at_all_closes_without_a_winner() -> None:
    closed, _, tree = run(proposer=ListProposer([]))
    assert (closed.winner, len(tree)) == (None, 0)
    assert "nothing was proposed" in closed.reason


def test_faults_of_a_proposer() -> None:
    def refuse(brief: Brief) -> list[Candidate]:
        raise ProposerError("no recipe for this family")

    with pytest.raises(ProposerError, match="no recipe"):
        run(proposer=ListProposer(refuse))

    def flaky(brief: Brief) -> list[Candidate]:
        calls.append(brief)
        if len(calls) % 3 == 0:
            raise (RecordError if len(calls) % 2 else MachineError)("hiccup")
        return numbered(len(calls))

    calls: list[Brief] = []
    _, _, tree = run(settings=QUICK.model_copy(update={"max_candidates": 12}), proposer=ListProposer(flaky))
    assert len(tree) == 12

    def down(brief: Brief) -> list[Candidate]:
        raise MachineError("endpoint unreachable")

    with pytest.raises(MachineError, match="unreachable"):
        run(proposer=ListProposer(down))


def test_the_farm_always_has_the_next_candidate_before_a_verdict_is_awaited() -> None:
    order: list[str] = []

    class Watching(CountingFarm):
        def submit(self, job: Job):  # type: ignore[no-untyped-def]
            order.append("submit")
            return super().submit(job)

        def _evaluate(self, job: Job) -> Verdict:
            order.append("result")
            return super()._evaluate(job)

    run(settings=QUICK.model_copy(update={"max_candidates": 4}), farm=Watching())
    assert order[:8] == ["submit", "submit", "result", "submit", "result", "submit", "result", "result"]


def test_diagnoses_of_correct_candidates_are_recorded_with_the_verdict() -> None:
    asked: list[Verdict] = []

    def explain(verdict: Verdict, opened: Opened, candidate: Candidate) -> Diagnosis | None:
        asked.append(verdict)
        return Diagnosis(bottleneck=Bottleneck.MEMORY) if len(asked) % 2 else None

    proposer = ListProposer(lambda brief: numbered(len(brief.history) + 1, len(brief.history) + 2)[: brief.n_wanted])
    _, _, tree = run(explain=explain, proposer=proposer)
    assert all(verdict.correct for verdict in asked)
    diagnosed = [node.step for node in tree.nodes if node.diagnosis]
    correct = [node.step for node in tree.nodes if node.verdict and node.verdict.correct and node.same_as is None]
    assert diagnosed == correct[::2]
    assert any(attempt.diagnosis for attempt in proposer.briefs[-1].history)


def test_listeners_hear_every_event_once() -> None:
    heard = Memory()
    _, events, _ = run(listeners=[heard])
    assert heard.events == events[1:]
    assert Counter(text.split()[0] for text in heard.texts)["judging"] == 30


def test_secrets_differ_by_level_and_campaign_and_are_in_no_event() -> None:
    store, farm = MemoryStore(), CountingFarm()
    campaign = store.open_campaign(sample_opened(QUICK))
    _, events, _ = run(store=store, campaign=campaign, farm=farm)
    levels = {job.level: {other.secret for other in farm.jobs if other.level == job.level} for job in farm.jobs}
    assert all(len(secrets) == 1 for secrets in levels.values())
    assert len(set.union(*levels.values())) == len(levels) == 3
    text = "".join(event.to_json() for event in events)
    assert not [job for job in farm.jobs if job.secret in text]
    assert store.secret(campaign) not in text
    other = CountingFarm()
    run(farm=other)
    assert not {job.secret for job in farm.jobs} & {job.secret for job in other.jobs}
