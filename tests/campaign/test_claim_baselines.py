"""Which baselines a claim on sealed shapes is held against."""

from __future__ import annotations

import pytest

from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Comparison, Verdict
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_opened
from tests.campaign.parts import QUICK, CountingFarm, ListProposer, judge_by_number, numbered, run

HARDER = "compile-max-autotune"


def sealed_job(times_us: dict[str, float], left_out: dict[str, str] | None = None) -> Job:
    """Of a campaign on a GPU whose finalists were measured beside baselines of these times."""

    def judge(job: Job) -> Verdict:
        verdict = judge_by_number({"screen": {1: 2.0}})(job)
        assert verdict.timing is not None
        (shape,) = verdict.timing.shapes[:1]
        compared = tuple(
            Comparison(
                baseline=name,
                baseline_us=us,
                candidate_us=5.0,
                speedup=us / 5,
                low=us / 5.1,
                high=us / 4.9,
                log_ratios=(0.5,),
            )  # fmt: skip
            for name, us in times_us.items()
        )
        shapes = (shape.model_copy(update={"comparisons": compared}),)
        timing = verdict.timing.model_copy(update={"shapes": shapes, "left_out": left_out or {}})
        return verdict.model_copy(update={"task_id": job.task.content_id, "timing": timing})

    store, farm = MemoryStore(), CountingFarm(judge)
    opened = sample_opened(QUICK.model_copy(update={"max_candidates": 1}))
    opened = opened.model_copy(update={"task": opened.task.model_copy(update={"platform": "cuda"})})
    run(store=store, campaign=store.open_campaign(opened), farm=farm, proposer=ListProposer(numbered(1)))
    return next(job for job in farm.jobs if job.level == "sealed")


@pytest.mark.parametrize("times_us", [{"eager": 30.0, "compile": 20.0}, {"vllm": 9.0, "eager": 90.0, "compile": 60.0}])
def test_a_claim_meets_the_tuned_form_too(times_us: dict[str, float]) -> None:
    job = sealed_job(times_us)
    assert HARDER in job.baselines
    assert not job.left_out


def test_what_was_far_behind_is_not_tuned_and_the_claim_says_so() -> None:
    job = sealed_job({"vllm": 7.0, "eager": 900.0, "compile": 210.0})
    assert job.baselines == ("eager", "compile")
    assert job.left_out == {HARDER: "torch.compile was at least 30 times slower than the fastest"}


def test_what_does_not_run_is_not_tuned() -> None:
    job = sealed_job({"vllm": 7.0, "eager": 900.0}, left_out={"compile": "BackendCompilerFailed"})
    assert HARDER not in job.baselines
    assert "does not run" in job.left_out[HARDER]


def test_what_nobody_asked_for_says_nothing() -> None:
    assert HARDER in sealed_job({"eager": 900.0}).baselines
