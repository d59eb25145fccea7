"""Jobs for candidates, and patience with the machine: its failures are repeated, never booked as verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernelevolve.campaign.journal import ALPHA, Journal
from kernelevolve.campaign.seeds import job_secret
from kernelevolve.errors import JudgeError, MachineError, ToolMissingError
from kernelevolve.farm.base import Farm, Ticket
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job, Preparation, claim_baselines, not_worth_tuning
from kernelevolve.model.verdict import Verdict

N_RETRIES = 3
Level = Literal["screen", "confirm", "sealed"]


@dataclass(frozen=True, kw_only=True)
class Started:
    job: Job
    ticket: Ticket | None  # None: the farm did not take it, `Judging.verdict` tries again


class Judging:
    def __init__(self, *, farm: Farm, journal: Journal) -> None:
        self._farm = farm
        self._journal = journal
        self._secret = journal.secret

    def prepare(self) -> None:
        """Let the farm make ready for screens: it costs no search time. Raises MachineError and TaskError."""
        self._journal.say("drawing inputs, computing answers, compiling baselines")
        with self._journal.stopwatch.left_out():
            self._farm.prepare(self._preparation("screen"))

    def start(self, candidate: Candidate, level: Level, *, alpha: float = ALPHA) -> Started:
        job = self._job(candidate, level, alpha)
        try:
            return Started(job=job, ticket=self._farm.submit(job))
        except ToolMissingError:
            raise
        except MachineError as error:
            self._journal.say(f"the machine took no job: {error}")
            return Started(job=job, ticket=None)

    def _job(self, candidate: Candidate, level: Level, alpha: float) -> Job:
        shared = self._preparation(level).model_dump(exclude={"task"})
        opened = self._journal.opened
        return Job(task=opened.task, candidate=candidate, user_baselines=opened.user_baselines, alpha=alpha, **shared)

    def _preparation(self, level: Level) -> Preparation:
        opened = self._journal.opened
        more = claim_baselines(opened.task) if level == "sealed" else ()
        measured = [verdict.timing for verdict in self._journal.tree.confirmed.values() if verdict.timing is not None]
        left_out = {name: why for name, why in not_worth_tuning(measured).items() if name in more}
        return Preparation(
            task=opened.task,
            level=level,
            baselines=(*opened.settings.baselines, *(name for name in more if name not in left_out)),
            left_out=left_out,
            n_threads=opened.settings.n_threads,
            secret=job_secret(self._secret, level),
        )

    def verdict(self, started: Started) -> Verdict:
        """Waits. Raises MachineError after `N_RETRIES` repetitions, and at once when a tool is missing."""
        ticket = started.ticket
        for left in reversed(range(N_RETRIES + 1)):
            try:
                return _checked(started.job, (ticket or self._farm.submit(started.job)).result())
            except ToolMissingError:
                raise
            except MachineError as error:
                if not left:
                    raise
                self._journal.say(f"the machine failed, {left} tries left: {error}")
                ticket = None
        raise AssertionError("unreachable")


def _checked(job: Job, verdict: Verdict) -> Verdict:
    """An answer about something else must not be booked on this candidate."""
    if (verdict.candidate_id, verdict.task_id) != (job.candidate.id, job.task.content_id):
        raise JudgeError("the judge answered for another job")
    if verdict.timing is not None and verdict.timing.level != job.level:
        raise JudgeError(f"the judge timed level {verdict.timing.level} instead of {job.level}")
    return verdict
