"""What went wrong elsewhere between a candidate and the record of it."""

from __future__ import annotations

import threading

import pytest

from kernelevolve.campaign.assemble import winners_elsewhere
from kernelevolve.campaign.driven import Driven
from kernelevolve.errors import JudgeError
from kernelevolve.farm.fake import fake_verdict
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Judged, Sealed
from kernelevolve.model.job import Job
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import CompileMessage, Outcome, Stage, Verdict
from kernelevolve.search import make_policy
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_opened, sample_verdict
from tests.campaign.parts import QUICK, CountingFarm, ListProposer, judge_by_number, numbered, run

SIX = QUICK.model_copy(update={"max_candidates": 6, "n_finalists": 3})
SCREEN = {1: 2.0, 2: 3.0, 3: 0.0, 4: 2.5, 5: 1.5, 6: 2.8}


def named(text: str, name: str) -> Candidate:
    return Candidate(
        language="cpp", files=(SourceFile(path="k.cpp", text=text),), origin=Origin(proposer="test", recipe=name)
    )


def answer(job: Job, outcome: Outcome = Outcome.CORRECT, *, speedup: float = 1.5) -> Verdict:
    """For the level that was asked for."""
    verdict = sample_verdict(job.candidate, outcome=outcome, speedup=speedup)
    timing = verdict.timing and verdict.timing.model_copy(update={"level": job.level})
    return verdict.model_copy(update={"timing": timing})


def test_the_first_nodes_keep_what_was_found_out_about_them() -> None:
    """PS14: a node without a parent has messages, verdict and diagnosis like any other, right or wrong."""
    messages = (CompileMessage(file="k.cpp", line=3, message="no such type"),)

    def judge(job: Job) -> Verdict:
        if job.candidate.origin.parameters["n"] != "1":
            return answer(job)
        failed = sample_verdict(job.candidate, outcome=Outcome.BUILD_FAILED)
        return failed.model_copy(update={"compile_messages": messages, "output": "printed"})

    _, _, tree = run(
        settings=SIX.model_copy(update={"n_drafts": 6}), farm=CountingFarm(judge),
        proposer=ListProposer(numbered(1, 2, 3, 4, 5, 6)),
        explain=lambda verdict, opened, candidate: Diagnosis(bottleneck=Bottleneck.MEMORY),
    )  # fmt: skip
    assert all(not node.move.parents for node in tree.nodes)
    first = tree.node(1).verdict
    assert first is not None
    assert (first.compile_messages, first.output) == (messages, "printed")
    assert all(node.diagnosis is not None for node in tree.nodes[1:])


def test_measuring_again_adds_and_never_replaces() -> None:
    """PS26: a later measurement is an event of its own, and finalists are compared by measurements of one kind."""
    farm = CountingFarm(judge_by_number({"screen": SCREEN, "confirm": {2: 1.4, 4: 2.6, 6: 1.9}}))
    closed, events, tree = run(settings=SIX, farm=farm, proposer=ListProposer(numbered(*SCREEN)))
    first = {event.step: event.verdict.timing for event in events if isinstance(event, Judged)}
    assert first[2] is not None
    assert first[2].speedup == 3.0
    again = tree.confirmed[2].timing
    assert again is not None
    assert again.speedup == 1.4
    assert {timing.level for timing in first.values() if timing} == {"screen"}
    assert closed.winner == 4, "the best of the confirmed, not the best figure of all"


def test_a_kernel_from_another_campaign_is_measured_here() -> None:
    """PS26: figures of another campaign, which another judge may have found, decide nothing in this one."""
    store = MemoryStore()
    run(store=store, campaign=store.open_campaign(sample_opened(QUICK)))
    settings = QUICK.model_copy(update={"inject_rate": 1.0, "max_candidates": 8})
    opened = sample_opened(settings, time="2026-01-03T00:00:00+00:00")
    campaign = store.open_campaign(opened)
    winners = winners_elsewhere(store, campaign, opened)
    assert winners
    farm = CountingFarm(lambda job: answer(job, speedup=0.5))
    _, _, tree = run(store=store, campaign=campaign, settings=settings, farm=farm, winners=winners)
    brought = [node for node in tree.nodes if node.candidate in winners]
    assert {node.candidate_id for node in brought} == {candidate.id for candidate in winners}
    speedups = [node.verdict.timing.speedup for node in brought if node.verdict and node.verdict.timing]
    assert speedups == [0.5] * len(brought)
    assert {job.candidate.id for job in farm.jobs if job.level == "screen"} >= {node.candidate_id for node in brought}


def test_equal_kernels_are_a_tie_however_often_one_looks() -> None:
    """PS40: without an interval above one there is no winner, and the same data name the same winner."""

    def ends(speedups: dict[int, float]) -> list[int | None]:
        results = []
        for _ in range(3):
            farm = CountingFarm(judge_by_number({"screen": speedups}))
            results.append(run(settings=SIX, farm=farm, proposer=ListProposer(numbered(*speedups)))[0].winner)
        return results

    assert ends({1: 1.0, 2: 1.05, 3: 0.98, 4: 1.02, 5: 1.08, 6: 1.01}) == [None] * 3
    (winner,) = set(ends({1: 1.0, 2: 2.0, 3: 2.0, 4: 0.98, 5: 1.0, 6: 1.0}))
    assert winner == 2


def test_a_fault_of_the_machine_is_no_result_and_what_is_known_is_not_bought_again() -> None:
    """PS53: no verdict is made of a fault that may pass; levels are judged on draws of their own."""
    farm = CountingFarm(n_faults=2)
    closed, events, _ = run(settings=SIX, farm=farm)
    judged = [event for event in events if isinstance(event, Judged)]
    assert len(judged) == 6
    assert len(farm.jobs) == 2 + len({(job.level, job.candidate.id) for job in farm.jobs})
    secrets = {level: {job.secret for job in farm.jobs if job.level == level} for level in farm.levels()}
    assert closed.winner is not None
    assert set(secrets) == {"screen", "confirm", "sealed"}
    assert all(len(of_level) == 1 for of_level in secrets.values())
    assert len(set().union(*secrets.values())) == 3


def test_a_fixed_kernel_of_a_bad_name_is_judged() -> None:
    """PE53: what is known of a content says nothing about a name."""
    bad = [named(f"int broken_{number};", "radix") for number in range(3)]
    fixed, renamed = named("int fixed;", "radix"), named("int broken_0;", "another name")
    farm = CountingFarm(
        lambda job: answer(job, Outcome.CRASHED if "broken" in job.candidate.source else Outcome.CORRECT)
    )
    settings = QUICK.model_copy(update={"max_candidates": 5})
    _, _, tree = run(settings=settings, farm=farm, proposer=ListProposer([*bad, fixed, renamed]))
    assert tree.node(4).usable
    screened = [job.candidate.source for job in farm.jobs if job.level == "screen"]
    assert [text.partition("int ")[2].strip() for text in screened] == [
        "broken_0;", "broken_1;", "broken_2;", "fixed;",
    ]  # fmt: skip


def test_what_was_verified_survives_later_failures() -> None:
    """PE59"""
    outcomes = {"2": Outcome.TIMEOUT, "3": Outcome.CRASHED, "4": Outcome.EXITED_EARLY}

    def judge(job: Job) -> Verdict:
        outcome = outcomes.get(job.candidate.origin.parameters["n"], Outcome.CORRECT)
        return answer(job, outcome, speedup=2.0)

    settings = QUICK.model_copy(update={"max_candidates": 4})
    closed, _, tree = run(settings=settings, farm=CountingFarm(judge), proposer=ListProposer(numbered(1, 2, 3, 4)))
    assert closed.winner == 1
    said = [(node.verdict.outcome, node.verdict.message) for node in tree.nodes[1:] if node.verdict]
    assert said == [(outcome, f"sample {outcome.value}") for outcome in outcomes.values()]


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.WRONG, Outcome.REFUSED])
def test_a_failed_run_on_hidden_shapes_has_an_outcome_and_a_stage(outcome: Outcome) -> None:
    """PE63"""

    def judge(job: Job) -> Verdict:
        return answer(job, outcome) if job.level == "sealed" else fake_verdict(job)

    closed, events, _ = run(settings=SIX, farm=CountingFarm(judge))
    (sealed,) = [event for event in events if isinstance(event, Sealed)]
    assert (sealed.verdict.outcome, sealed.verdict.stage) == (outcome, Stage.CHECK)
    assert "failed on the sealed shapes" in closed.reason
    assert closed.winner is None


def test_two_campaigns_of_one_task_go_on_apart_after_a_crash() -> None:
    """PE50: the second is judged in full, though the first was cut off and resumed meanwhile."""
    store = MemoryStore()
    first, second = (
        store.open_campaign(sample_opened(SIX.model_copy(update={"seed": seed}))) for seed in (1, 2)
    )  # fmt: skip
    jobs: list[Job] = []

    def dies(job: Job) -> Verdict:
        jobs.append(job)
        if len(jobs) == 3:
            raise KeyboardInterrupt
        return fake_verdict(job)

    with pytest.raises(KeyboardInterrupt):
        run(store=store, campaign=first, settings=SIX, farm=CountingFarm(dies))
    for campaign in (second, first):
        assert len(run(store=store, campaign=campaign, settings=SIX)[2].nodes) == 6


def test_a_dead_judge_leaves_no_old_result() -> None:
    """PE51: a job whose judge died has an error, not the verdict that the same job got before."""
    store, n_jobs = MemoryStore(), iter(range(1000))
    campaign = store.open_campaign(sample_opened(SIX))

    def dies_later(job: Job) -> Verdict:
        if next(n_jobs) >= 2:
            raise JudgeError("the judge's process ended (-9)")
        return fake_verdict(job)

    same = numbered(1, 2, 3)
    with pytest.raises(JudgeError):
        run(store=store, campaign=campaign, settings=SIX, farm=CountingFarm(dies_later), proposer=ListProposer(same))
    judged = [event.step for event in store.read(campaign) if isinstance(event, Judged)]
    assert judged == [1, 2]


def test_how_many_are_waiting_is_told() -> None:
    """PE63"""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(job: Job) -> Verdict:
        begun.set()
        go_on.wait(10)
        return answer(job)

    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(QUICK))
    policy = make_policy("greedy", QUICK)
    here = Driven(store=store, campaign_id=campaign, farm=CountingFarm(slowly), policy=policy)
    steps = [here.propose(one, move=Move(operator=Operator.DRAFT), ask=None).step for one in numbered(1, 2, 3, 4, 5)]
    for step in steps:
        here.evaluate(step)
    assert begun.wait(10)
    told = [here.progress(step) for step in steps]
    go_on.set()
    here.wait(lambda: all(here.progress(step).state == "done" for step in steps), 10.0)
    here.close()
    here.join(5.0)
    waiting = [int(one.text.split()[0]) for one in told if one.state == "queued"]
    assert waiting
    assert waiting == list(range(len(steps) - len(waiting), len(steps)))
