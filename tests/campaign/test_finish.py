from __future__ import annotations

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.model.events import Closed, Event, Settings
from kernelevolve.model.job import Job
from kernelevolve.model.task import ShapeSets
from kernelevolve.model.verdict import Verdict
from kernelevolve.search.tree import Tree
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_opened
from tests.campaign.parts import QUICK, CountingFarm, ListProposer, judge_by_number, numbered, run

SETTINGS = QUICK.model_copy(update={"max_candidates": 6, "n_finalists": 3})
SCREEN = {1: 2.0, 2: 3.0, 3: 0.0, 4: 2.5, 5: 1.5, 6: 2.8}


def finish(settings: Settings = SETTINGS, **levels: dict[int, float]) -> tuple[Closed, list[Event], Tree, CountingFarm]:
    farm = CountingFarm(judge_by_number({"screen": SCREEN, **levels}))
    closed, events, tree = run(settings=settings, farm=farm, proposer=ListProposer(numbered(1, 2, 3, 4, 5, 6)))
    return closed, events, tree, farm


def test_finalists_are_the_best_of_the_search_and_the_best_confirmed_wins() -> None:
    closed, events, tree, farm = finish(confirm={2: 1.4, 4: 2.6, 6: 1.9})
    assert sorted(tree.confirmed) == [2, 4, 6]
    assert closed.winner == 4
    assert tree.sealed is not None
    assert tree.sealed.step == 4
    assert [event.kind for event in events[-5:]] == ["confirmed", "confirmed", "confirmed", "sealed", "closed"]
    assert farm.levels() == {"screen": 6, "confirm": 3, "sealed": 1}


def test_a_finalist_that_fails_when_judged_again_is_out() -> None:
    closed, _, _, _ = finish(confirm={2: 0.0, 4: 1.5, 6: 1.6})
    assert closed.winner == 6


@pytest.mark.parametrize(
    ("sealed", "words"),
    [({2: 0.0}, "failed on the sealed shapes"), ({2: 1.05}, "not clearly faster on the sealed shapes")],
)
def test_sealed_shapes_are_used_once_and_decide(sealed: dict[int, float], words: str) -> None:
    closed, _, tree, farm = finish(sealed=sealed)
    assert closed.winner is None
    assert words in closed.reason
    assert farm.levels()["sealed"] == 1
    assert tree.sealed is not None


def test_without_a_claim_the_sealed_shapes_stay_unused() -> None:
    closed, _, tree, farm = finish(confirm={2: 1.0, 4: 1.05, 6: 0.9})
    assert (closed.winner, tree.sealed, farm.levels()["sealed"]) == (None, None, 0)
    assert "no finalist was clearly faster" in closed.reason
    assert "step 4: 1.05x [0.945..1.16], too noisy to prove" in closed.reason
    closed, _, _, _ = finish(confirm={2: 0.0, 4: 0.0, 6: 0.0})
    assert "no finalist was correct" in closed.reason


def test_nothing_correct() -> None:
    farm = CountingFarm(judge_by_number({"screen": dict.fromkeys(SCREEN, 0.0)}))
    closed, _, _ = run(settings=SETTINGS, farm=farm, proposer=ListProposer(numbered(1, 2, 3, 4, 5, 6)))
    assert closed.winner is None
    assert "no candidate was correct" in closed.reason
    assert farm.levels() == {"screen": 6}


def test_a_task_without_sealed_shapes_says_so() -> None:
    store = MemoryStore()
    opened = sample_opened(SETTINGS)
    task = opened.task.model_copy(update={"shapes": ShapeSets(shown=({"N": 100},))})
    campaign = store.open_campaign(opened.model_copy(update={"task": task}))
    farm = CountingFarm()
    closed, _, _ = run(store=store, campaign=campaign, settings=SETTINGS, farm=farm)
    assert farm.levels()["sealed"] == 0
    assert closed.winner is not None
    assert "no sealed shapes" in closed.reason


@pytest.mark.parametrize("sealed", [{}, {2: 1.05}])
def test_of_a_task_of_one_size_no_sealed_shapes_are_spoken_of(sealed: dict[int, float]) -> None:
    store = MemoryStore()
    opened = sample_opened(SETTINGS)
    axes = tuple(axis.model_copy(update={"low": 100, "high": 100}) for axis in opened.task.axes)
    shapes = ShapeSets(shown=({"N": 100},), search=({"N": 100},), sealed=({"N": 100},))
    task = opened.task.model_copy(update={"axes": axes, "shapes": shapes})
    campaign = store.open_campaign(opened.model_copy(update={"task": task}))
    judge = judge_by_number({"screen": SCREEN, "sealed": sealed})
    farm = CountingFarm(lambda job: judge(job).model_copy(update={"task_id": job.task.content_id}))
    proposer = ListProposer(numbered(1, 2, 3, 4, 5, 6))
    closed, _, _ = run(store=store, campaign=campaign, settings=SETTINGS, farm=farm, proposer=proposer)
    assert "the task's one size" in closed.reason
    assert "sealed shapes" not in closed.reason
    assert (closed.winner is None) == bool(sealed)


def test_the_end_goes_on_where_it_was_cut_off() -> None:
    judge = judge_by_number({"screen": SCREEN})
    cut_at = iter(["confirm", "sealed"])
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(SETTINGS))
    jobs: list[Job] = []

    class Cut(CountingFarm):
        def _evaluate(self, job: Job) -> Verdict:
            if job.level == self.level and any(old.level == job.level for old in self.jobs) | (job.level == "sealed"):
                raise KeyboardInterrupt
            jobs.append(job)
            return super()._evaluate(job)

    for level in cut_at:
        farm = Cut(judge)
        farm.level = level
        with pytest.raises(KeyboardInterrupt):
            run(settings=SETTINGS, store=store, campaign=campaign, farm=farm, proposer=ListProposer(numbered(*SCREEN)))
    farm = CountingFarm(judge)
    closed, events, _ = run(settings=SETTINGS, store=store, campaign=campaign, farm=farm, proposer=ListProposer([]))
    assert closed.winner == 2
    assert farm.levels() == {"sealed": 1}
    assert len({(job.level, job.candidate.id) for job in jobs}) == len(jobs) == 9


def test_a_failing_machine_in_the_final_loses_nothing() -> None:
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(SETTINGS))
    judge = judge_by_number({"screen": SCREEN})

    def broken(job: Job) -> Verdict:
        if job.level == "sealed":
            raise MachineError("power cut")
        return judge(job)

    proposer = ListProposer(numbered(*SCREEN))
    with pytest.raises(MachineError):
        run(settings=SETTINGS, store=store, campaign=campaign, farm=CountingFarm(broken), proposer=proposer)
    closed, _, _ = run(settings=SETTINGS, store=store, campaign=campaign, farm=CountingFarm(judge), proposer=proposer)
    assert closed.winner == 2
