"""Small parts for campaigns: scripted proposers and farms, a hand-turned clock, a listener that remembers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernelevolve.campaign.loop import run_campaign
from kernelevolve.errors import JudgeError
from kernelevolve.farm.base import Farm, Ticket
from kernelevolve.farm.fake import FakeFarm, fake_verdict
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Closed, Event, Settings
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.proposers.base import Proposer
from kernelevolve.proposers.fake import FakeProposer
from kernelevolve.search import make_policy
from kernelevolve.search.tree import Tree
from kernelevolve.store.base import Store
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_candidate, sample_opened, sample_verdict

QUICK = Settings(seed=5, proposer="fake", platform="fake", max_candidates=30, max_seconds=1e6, n_drafts=6)


class ListProposer:
    """Hands out the given candidates in order, or whatever `answer` makes of the brief."""

    name = "list"

    def __init__(self, answer: Callable[[Brief], list[Candidate]] | Sequence[Candidate]) -> None:
        self._answer = answer
        self.briefs: list[Brief] = []

    def propose(self, brief: Brief) -> list[Candidate]:
        self.briefs.append(brief)
        if callable(self._answer):
            return self._answer(brief)
        start = brief.n_proposed
        return list(self._answer[start : start + brief.n_wanted])


class CountingFarm(InlineFarm):
    """The verdicts of the fake farm, or of `judge`; remembers the jobs. The first `n_faults` jobs fail as machine."""

    def __init__(self, judge: Callable[[Job], Verdict] = fake_verdict, *, n_faults: int = 0) -> None:
        self.jobs: list[Job] = []
        self.n_submitted = 0
        self._n_faults = n_faults
        self._judge = judge
        super().__init__(self._evaluate)

    def submit(self, job: Job) -> Ticket:
        self.n_submitted += 1
        return super().submit(job)

    def _evaluate(self, job: Job) -> Verdict:
        self.jobs.append(job)
        if len(self.jobs) <= self._n_faults:
            raise JudgeError("the machine has a fault")
        return self._judge(job)

    def levels(self) -> Counter[str]:
        return Counter(job.level for job in self.jobs)


class Clock:
    """Every look at it costs `tick_s`."""

    def __init__(self, *, now_s: float = 0.0, tick_s: float = 0.0) -> None:
        self.now_s = now_s
        self.tick_s = tick_s

    def __call__(self) -> float:
        self.now_s += self.tick_s
        return self.now_s


class Memory:
    """A listener."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.texts: list[str] = []

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    def on_status(self, text: str) -> None:
        self.texts.append(text)


def run(
    *,
    settings: Settings = QUICK,
    store: Store | None = None,
    campaign: str | None = None,
    proposer: Proposer | None = None,
    farm: Farm | None = None,
    **more: Any,
) -> tuple[Closed, list[Event], Tree]:
    store = store or MemoryStore()
    campaign = campaign or store.open_campaign(sample_opened(settings))
    closed = run_campaign(
        store=store,
        campaign_id=campaign,
        proposer=proposer or FakeProposer(),
        policy=make_policy(settings.policy, settings),
        farm=farm or FakeFarm(),
        **{"clock": Clock(), "sleep": lambda wait_s: None, **more},
    )
    events = store.read(campaign)
    return closed, events, Tree(events)


def judge_by_number(speedups: dict[str, dict[int, float]]) -> Callable[[Job], Verdict]:
    """level -> number of the sample candidate -> speed-up (0: wrong). Other levels repeat "screen"."""

    def judge(job: Job) -> Verdict:
        number = int(job.candidate.origin.parameters["n"])
        speedup = speedups.get(job.level, {}).get(number, speedups["screen"][number])
        if not speedup:
            return sample_verdict(job.candidate, outcome=Outcome.WRONG)
        verdict = sample_verdict(job.candidate, speedup=speedup)
        assert verdict.timing is not None
        return verdict.model_copy(update={"timing": verdict.timing.model_copy(update={"level": job.level})})

    return judge


def numbered(*numbers: int) -> list[Candidate]:
    return [sample_candidate(number) for number in numbers]


def without_times(events: Sequence[Event]) -> list[str]:
    """The events as text, blind to how long things took."""
    return [re.sub(r'"elapsed_s":[-0-9.e]+', '"elapsed_s":0', event.to_json()) for event in events]


def log_jobs(path: Path) -> Callable[[Job], Verdict]:
    """Judge as the fake does, and leave a line per job that survives a kill."""

    def judge(job: Job) -> Verdict:
        with path.open("a") as file:
            file.write(json.dumps([job.level, job.candidate.id]) + "\n")
        return fake_verdict(job)

    return judge
