"""Measures the landscapes: every candidate is judged at the level of a search, as often as its interval needs it."""

from __future__ import annotations

import math
import random
import statistics
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from search_tasks import BASELINES, N_THREADS, CountableProposer, narrow_task

from kernelevolve.errors import JudgeError
from kernelevolve.evaluation.statistics import sign_interval
from kernelevolve.farm.base import Farm, Ticket
from kernelevolve.farm.inline import InlineTicket
from kernelevolve.farm.process import ProcessFarm
from kernelevolve.farm.recorded import Line, RecordedFarm, job_key
from kernelevolve.model.admission import Admission
from kernelevolve.model.brief import Brief, Move, Operator
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.verdict import Comparison, ShapeTiming, Verdict

SECRET = "search comparison"
N_FAULTS = 5
N_ALL = 3
WIDE = 0.12
"""An interval whose upper end is more than this (ln) above its lower one was disturbed; the job is done again."""


class PoolingFarm:
    """Another farm, asked again while the interval is wide, `n_tries` times at the most. The pairs of all tries count,
    as those of one longer measurement would; each try is kept in a file of its own, so that a later run adds to it."""

    def __init__(self, *, inner: Farm, tries: Path, n_tries: int) -> None:
        self._inner = inner
        self._file = tries
        self.n_tries = n_tries
        self._tried: dict[str, list[Verdict]] = {}
        lines = tries.read_text().split("\n") if tries.exists() else []
        for line in [Line.from_json(text) for text in lines[:-1]]:  # the last one is empty, or was cut short
            self._tried.setdefault(line.key, []).append(line.verdict)
        if lines and lines[-1]:
            tries.write_text("".join(text + "\n" for text in lines[:-1]))

    def prepare(self, preparation: Preparation) -> None:
        """Left to the first job."""

    def admit(self, preparation: Preparation) -> Admission:
        return self._inner.admit(preparation)

    def submit(self, job: Job) -> Ticket:
        return InlineTicket(job, self._verdict, threading.Lock())

    def close(self) -> None:
        self._inner.close()

    def settled(self, job: Job) -> bool:
        """Whether another try would change little."""
        tried = self._tried.get(job_key(job), [])
        return bool(tried) and width(settled_verdict(tried)) <= WIDE

    def try_once(self, job: Job) -> None:
        verdict = self._patient(job)
        line = Line(key=job_key(job), verdict=verdict)
        with self._file.open("a") as file:
            file.write(line.to_json() + "\n")
        self._tried.setdefault(line.key, []).append(verdict)

    def _patient(self, job: Job) -> Verdict:
        """A failure of the machine is no verdict. Raises MachineError when it does not go away."""
        for _ in range(N_FAULTS):
            try:
                return self._inner.submit(job).result()
            except JudgeError as error:
                print(f"again: {error}", flush=True)
        return self._inner.submit(job).result()

    def speedup(self, job: Job) -> float:
        """By what was tried so far; 0 for what failed."""
        timing = settled_verdict(self._tried[job_key(job)]).timing
        return timing.speedup if timing else 0.0

    def n_tried(self, job: Job) -> int:
        return len(self._tried.get(job_key(job), []))

    def _verdict(self, job: Job) -> Verdict:
        while not self.settled(job) and self.n_tried(job) < self.n_tries:
            self.try_once(job)
        return settled_verdict(self._tried[job_key(job)])


def settled_verdict(tried: Sequence[Verdict]) -> Verdict:
    """A failure decides. Else the one with the narrowest interval, a try or all of them pooled: how wide an interval is
    does not say on which side of the truth its middle lies."""
    failed = [one for one in tried if one.timing is None]
    return failed[0] if failed else min([pooled(tried), *tried], key=width)


def pooled(tried: Sequence[Verdict]) -> Verdict:
    """One verdict from all pairs of several correct ones, each with one shape and one baseline."""
    shapes = [one.timing.shapes[0] for one in tried if one.timing]
    logs = [value for shape in shapes for value in shape.comparisons[0].log_ratios]
    low, high = (math.exp(end) for end in sign_interval(logs))
    speedup = math.exp(statistics.median(logs))

    def middle(values: Iterable[float]) -> float:
        return statistics.median(values)

    comparison = Comparison(
        baseline=shapes[0].comparisons[0].baseline, speedup=speedup, low=low, high=high, log_ratios=tuple(logs),
        baseline_us=middle(shape.comparisons[0].baseline_us for shape in shapes),
        candidate_us=middle(shape.comparisons[0].candidate_us for shape in shapes),
    )  # fmt: skip
    latency_us = middle(shape.latency_us for shape in shapes)
    update = {"latency_us": latency_us, "comparisons": (comparison,), "slope_us": None}
    shape = ShapeTiming.model_validate({**shapes[0].model_dump(), **update})
    first = tried[0].timing
    assert first is not None
    timing = first.model_copy(update={"shapes": (shape,), "speedup": speedup, "low": low, "high": high})
    return tried[0].model_copy(update={"timing": timing, "n_checks": sum(one.n_checks for one in tried)})


def width(verdict: Verdict) -> float:
    """Of the interval, ln; 0 without a timing, for a failure is as sure as it gets."""
    timing = verdict.timing
    if timing is None:
        return 0.0
    return math.log(timing.high / timing.low) if timing.low > 0 else math.inf


def open_pool(work: Path, cache: Path, n_tries: int) -> PoolingFarm:
    work.mkdir(parents=True, exist_ok=True)
    inner = ProcessFarm(n_threads=N_THREADS, cache_dir=cache)
    return PoolingFarm(inner=inner, tries=work / "tries.jsonl", n_tries=n_tries)


def open_table(work: Path, cache: Path, n_tries: int) -> RecordedFarm:
    """What is in the table stays as it is; what is missing is taken from the tries, or measured now."""
    return RecordedFarm(table=work / "verdicts.jsonl", inner=open_pool(work, cache, n_tries))


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """The jobs of one task, equal to those that a campaign hands in but for the secret, which the table ignores."""

    task_name: str

    def job(self, candidate: Candidate, level: str) -> Job:
        return Job(
            task=narrow_task(self.task_name), candidate=candidate, level=level, baselines=BASELINES,
            n_threads=N_THREADS, secret=f"{SECRET} {level}",
        )  # fmt: skip


def every_candidate(task_name: str, facts: PlatformFacts) -> list[Candidate]:
    """In an order that favours no recipe, so that a table that is not complete yet is a fair sample."""
    task = narrow_task(task_name).public()
    brief = Brief(task=task, facts=facts, move=Move(operator=Operator.DRAFT), seed=0)
    found = list(CountableProposer().everything(brief))
    random.Random(task_name).shuffle(found)
    return found


def measure(farm: Farm, jobs: Iterable[Job]) -> Iterator[Verdict]:
    for job in jobs:
        yield farm.submit(job).result()


def fill(pool: PoolingFarm, task_name: str, facts: PlatformFacts) -> str:
    """One more try for every candidate whose interval is wide, after `N_ALL` tries only for the faster half of them,
    from which every winner comes. Says how it went."""
    kept = Jobs(task_name=task_name)
    jobs = [kept.job(one, "screen") for one in every_candidate(task_name, facts)]
    todo = [job for job in jobs if not pool.settled(job) and pool.n_tried(job) < pool.n_tries]
    if all(pool.n_tried(job) >= N_ALL for job in todo):
        middle = statistics.median(map(pool.speedup, jobs))
        todo = [job for job in todo if pool.speedup(job) >= middle]
    started = time.monotonic()
    for job in todo:
        pool.try_once(job)
    n_open, seconds = sum(not pool.settled(job) for job in jobs), time.monotonic() - started
    return f"{task_name}: {len(jobs)} candidates, {len(todo)} tries in {seconds:.0f} s, {n_open} intervals still wide"
