"""kill -9 of a whole campaign at random moments: nothing is lost, nothing is judged twice, the end is the same."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.events import Event, Judged
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Verdict
from kernelevolve.store.sqlite import SqliteStore
from kernelevolve.testing.samples import sample_opened
from tests.campaign.parts import QUICK, log_jobs, run, without_times

N_KILLS = 50
SETTINGS = QUICK.model_copy(update={"max_candidates": 16, "n_drafts": 4})
FORK = multiprocessing.get_context("fork")


def campaign_in_a_process(folder: Path, campaign: str) -> None:
    os.setsid()
    judge = log_jobs(folder / f"jobs-{campaign}")

    def slowly(job: Job) -> Verdict:
        verdict = judge(job)
        time.sleep(0.003)
        return verdict

    run(settings=SETTINGS, store=SqliteStore(folder), campaign=campaign, farm=InlineFarm(slowly))


def run_once(folder: Path, campaign: str, *, kill_after_s: float | None) -> None:
    process = FORK.Process(target=campaign_in_a_process, args=(folder, campaign))
    process.start()
    process.join(kill_after_s)
    if process.exitcode is None:
        assert process.pid is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    else:
        assert process.exitcode == 0


def test_kill_at_any_moment_and_resume_gives_the_unbroken_campaign(tmp_path: Path) -> None:
    """PS20: what a resumed run does is exactly what was left of its limit."""
    unbroken = run(settings=SETTINGS)[1]
    store = SqliteStore(tmp_path)
    started = time.monotonic()
    run_once(tmp_path, store.open_campaign(sample_opened(SETTINGS)), kill_after_s=None)
    whole_s = time.monotonic() - started
    rng, n_cut_off = random.Random(1), 0
    for _ in range(N_KILLS):
        campaign = store.open_campaign(sample_opened(SETTINGS))
        run_once(tmp_path, campaign, kill_after_s=rng.uniform(0.05, 1.0) * whole_s)
        before = store.read(campaign)
        n_cut_off += before[-1].kind != "closed"
        run_once(tmp_path, campaign, kill_after_s=None)
        events = store.read(campaign)
        assert events[: len(before)] == before
        assert without_times(events) == without_times(unbroken)
        assert_nothing_judged_twice(tmp_path / f"jobs-{campaign}", events)
    assert n_cut_off >= N_KILLS // 4  # a busy machine takes longer than the run that was timed


def assert_nothing_judged_twice(jobs_file: Path, events: list[Event]) -> None:
    steps = [event.step for event in events if isinstance(event, Judged)]
    assert steps == list(range(1, SETTINGS.max_candidates + 1))
    jobs = Counter(tuple(json.loads(line)) for line in jobs_file.read_text().splitlines())
    # Only a job that was running at the kill, its verdict not recorded yet, may have been started again.
    assert sum(count - 1 for count in jobs.values()) <= 1


def test_a_campaign_killed_many_times_still_ends(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    campaign = store.open_campaign(sample_opened(SETTINGS))
    rng = random.Random(2)
    for _ in range(N_KILLS):
        run_once(tmp_path, campaign, kill_after_s=rng.uniform(0.02, 0.08))
    run_once(tmp_path, campaign, kill_after_s=None)
    assert without_times(store.read(campaign)) == without_times(run(settings=SETTINGS)[1])
