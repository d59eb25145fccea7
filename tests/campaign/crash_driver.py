"""Runs a campaign in a process of its own and has it struck at one point, named by `CRASH_AT` in the environment.

A point is `what:where:nth`: the nth time that `where` is reached, `what` happens. Nothing of this is in the product:
the store, the farm and the proposer are wrapped here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy import event as sqlalchemy_event

from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.ledger import EventLedger
from kernelevolve.campaign.loop import run_journal
from kernelevolve.errors import JudgeError, MachineError
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Event, Settings
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Verdict
from kernelevolve.search import make_policy
from kernelevolve.store.sqlite import FILE_NAME, SqliteStore
from tests.campaign.paid import PaidProposer, Provider
from tests.campaign.parts import log_jobs

POINT = "CRASH_AT"
FORK = multiprocessing.get_context("fork")
STAGES = ("build", "check", "measure")
SETTINGS = Settings(
    seed=3, proposer="paid", platform="fake", max_candidates=5, max_seconds=1e6, n_drafts=3, n_finalists=2,
    max_tokens=100_000, max_usd=1000.0,
)  # fmt: skip


class Striker:
    """Counts how often each place was passed and strikes at the one that was named."""

    def __init__(self, point: str) -> None:
        self._what, self._where, nth = point.split(":") if point else ("", "", "0")
        self._nth = int(nth)
        self._passed: Counter[str] = Counter()

    def at(self, what: str, where: str, strike: Callable[[], None]) -> None:
        if (what, where) != (self._what, self._where):
            return
        self._passed[where] += 1
        if self._passed[where] == self._nth or self._nth == 0:  # 0: every time
            strike()

    def pass_by(self, moment: str) -> None:
        self.at("kill", moment, kill)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(error: Exception) -> Callable[[], None]:
    def strike() -> None:
        raise error

    return strike


class StruckStore(SqliteStore):
    def __init__(self, folder: Path, striker: Striker) -> None:
        super().__init__(folder)
        self._file = folder / FILE_NAME
        self._striker = striker
        self._writing: Sequence[Event] = ()
        sqlalchemy_event.listen(Engine, "commit", self._on_commit)

    def append(self, campaign_id: str, events: Sequence[Event], **more: Any) -> None:
        kinds = dict.fromkeys(event.kind for event in events)
        for kind in kinds:
            self._striker.at("kill-before", kind, kill)
            self._striker.at("error-before", kind, fail(MachineError("the database is gone")))
            self._striker.at("locked", kind, self._lock_for_a_moment)
        self._writing = events
        try:
            super().append(campaign_id, events, **more)
        finally:
            self._writing = ()
        for kind in kinds:
            self._striker.at("error-after", kind, fail(MachineError("the connection broke after the commit")))
            self._striker.at("kill-after", kind, kill)

    def _on_commit(self, connection: object) -> None:
        for kind in dict.fromkeys(event.kind for event in self._writing):
            self._striker.at("kill-inside", kind, kill)

    def _lock_for_a_moment(self) -> None:
        """Another process writes: everybody else waits."""
        other = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")

        def let_go() -> None:
            other.execute("ROLLBACK")
            other.close()

        threading.Timer(0.15, let_go).start()


class StruckFarm(InlineFarm):
    """A judge in a process of its own for every job; it goes through three stages."""

    def __init__(self, judge: Callable[[Job], Verdict], striker: Striker) -> None:
        super().__init__(self._in_a_process)
        self._judge = judge
        self._striker = striker

    def submit(self, job: Job):  # type: ignore[no-untyped-def]
        self._striker.at("kill", f"before-submit-{job.level}", kill)
        self._striker.at("error", f"submit-{job.level}", fail(MachineError("no machine is free")))
        ticket = super().submit(job)
        self._striker.at("kill", f"after-submit-{job.level}", kill)
        return ticket

    def _in_a_process(self, job: Job) -> Verdict:
        struck: list[str] = []
        for stage in STAGES:
            self._striker.at("judge-dies", stage, lambda stage=stage: struck.append(stage))  # type: ignore[misc]
        if struck:
            child = FORK.Process(target=time.sleep, args=(60,))
            child.start()
            child.kill()
            child.join()
            raise JudgeError(f"the judge's process ended ({child.exitcode}) during {struck[0]}")
        self._striker.at("kill", f"judging-{job.level}", kill)
        self._striker.at("error", f"judging-{job.level}", fail(JudgeError("the machine has a fault")))
        return self._judge(job)


class StruckProvider(Provider):
    """Its process may die in the middle of an answer, when what it served is on the bill already."""

    def __init__(self, file: Path, striker: Striker) -> None:
        super().__init__(file)
        self._striker = striker

    def call(self, request: str, seed: int, n: int) -> str:
        answer = super().call(request, seed, n)
        self._striker.at("model-dies", "answer", fail(ConnectionError("the stream ended")))
        return answer


def main(folder: Path, campaign: str, settings: Settings = SETTINGS) -> None:
    """Exits with 4 where the command line would: the run ended, the campaign did not."""
    striker = Striker(os.environ.get(POINT, ""))
    journal = Journal(store=StruckStore(folder, striker), campaign_id=campaign, listeners=(), clock=time.monotonic)
    provider = StruckProvider(folder / f"served-{campaign}", striker)
    proposer = PaidProposer(EventLedger(journal), provider, striker.pass_by)
    farm = StruckFarm(log_jobs(folder / f"jobs-{campaign}"), striker)
    try:
        run_journal(
            journal, proposer=proposer, policy=make_policy(settings.policy, settings), farm=farm,
            sleep=lambda wait_s: None, explain=lambda *about: Diagnosis(bottleneck=Bottleneck.MEMORY),
        )  # fmt: skip
    except MachineError:
        os._exit(4)
    os._exit(0)


def run_in_a_process(
    folder: Path, campaign: str, *, point: str = "", settings: Settings = SETTINGS, kill_after_s: float | None = None
) -> int:
    """Its exit status; -9 when it was killed."""

    def child() -> None:
        os.setsid()
        os.environ[POINT] = point
        main(folder, campaign, settings)

    process = FORK.Process(target=child)
    process.start()
    process.join(kill_after_s)
    if process.exitcode is None:
        assert process.pid is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    assert process.exitcode is not None
    return process.exitcode
