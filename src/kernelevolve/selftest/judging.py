"""One entry of the corpus before the real judge."""

from __future__ import annotations

import time

from kernelevolve.errors import MachineError, TaskError, ToolMissingError
from kernelevolve.farm.base import Farm
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import Verdict
from kernelevolve.selftest.corpus import Entry
from kernelevolve.tasks import load_task

LIMITS = Limits(call_s=2.0, build_s=20.0)
N_TRIES, QUIET_S = 8, 3.0
NO_WIN, WIN, VOID = "no_win", "win", "void"


class Found(Value):
    """What the judge said. `said`: an outcome, or "void", "no_win", "win"."""

    name: str
    row: str
    lane: str
    honest: bool
    said: str
    right: bool
    message: str = ""
    seconds: float = 0.0


def judged(entry: Entry, farm: Farm, *, secret: str, n_threads: int) -> tuple[str, str]:
    """(what was said, why). Raises MachineError."""
    task = load_task(str(entry.task_folder), platform=entry.platform)
    credit = NO_WIN in entry.caught
    try:
        verdict = _verdict(entry, farm, task, level="screen", secret=secret, n_threads=n_threads, credit=credit)
        if not verdict.correct or not credit:
            return verdict.outcome.value, verdict.message
        for level in ("confirm", "sealed"):
            if not _wins(verdict):
                break
            verdict = _verdict(
                entry, farm, task, level=level, secret=f"{secret}/{level}", n_threads=n_threads, credit=credit
            )
            if not verdict.correct:
                return verdict.outcome.value, verdict.message
    except TaskError as error:
        return VOID, str(error).splitlines()[0]
    timing = verdict.timing
    assert timing is not None
    return (WIN if _wins(verdict) else NO_WIN), f"{timing.speedup:.3f}x [{timing.low:.3f}, {timing.high:.3f}]"


def _wins(verdict: Verdict) -> bool:
    return verdict.timing is not None and verdict.timing.wins


def _verdict(entry: Entry, farm: Farm, task: Task, *, level: str, secret: str, n_threads: int, credit: bool) -> Verdict:
    """Where credit is the question, against every baseline; else the reference is enough."""
    baselines = ("eager", "compile") if credit else ("eager",)
    given = {"task": task, "candidate": entry.candidate(), "level": level, "secret": secret, "limits": LIMITS}
    rivals = entry.rivals if credit else ()
    job = Job.model_validate({**given, "baselines": baselines, "n_threads": n_threads, "user_baselines": rivals})
    for _ in range(N_TRIES - 1):
        try:
            return farm.submit(job).result()
        except ToolMissingError:
            raise
        except MachineError:  # a busy machine is quarantined for a while
            time.sleep(QUIET_S)
    return farm.submit(job).result()


def caught(entry: Entry, said: str) -> bool:
    """An attack is caught when the judge said one of what it must say."""
    return said in entry.caught


def accepted(said: str) -> bool:
    return said in ("correct", NO_WIN, WIN)
