"""One entry of the corpus before the real judge."""

from __future__ import annotations

from collections.abc import Callable

from kernelevolve.errors import MachineError, TaskError, ToolMissingError
from kernelevolve.farm.base import Farm
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.selftest.corpus import Entry
from kernelevolve.tasks import load_task

LIMITS = Limits(call_s=2.0, build_s=20.0)
N_TRIES, QUIET_S = 8, 3.0
Sleep = Callable[[float], None]
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


def judged(entry: Entry, farm: Farm, *, secret: str, n_threads: int, sleep: Sleep) -> tuple[str, str]:
    """(what was said, why). Raises MachineError."""
    task = load_task(str(entry.task_folder), platform=entry.platform)
    credit = NO_WIN in entry.caught

    def verdict_at(level: str, secret: str) -> Verdict:
        job = _job(entry, task, level=level, secret=secret, n_threads=n_threads, credit=credit)
        verdict = _patiently(farm, job, sleep)
        if verdict.outcome is Outcome.TIMEOUT and Outcome.TIMEOUT.value not in entry.caught:
            # The limit is short so that whatever hangs costs little; once, a machine may have stood still that long.
            verdict = _patiently(farm, job, sleep)
        return verdict

    try:
        verdict = verdict_at("screen", secret)
        for level in ("confirm", "sealed"):
            if not credit or not _wins(verdict):
                break
            verdict = verdict_at(level, f"{secret}/{level}")
    except TaskError as error:
        return VOID, str(error).splitlines()[0]
    if not verdict.correct or not credit:
        return verdict.outcome.value, verdict.message
    timing = verdict.timing
    assert timing is not None
    return (WIN if _wins(verdict) else NO_WIN), f"{timing.speedup:.3f}x [{timing.low:.3f}, {timing.high:.3f}]"


def _wins(verdict: Verdict) -> bool:
    return verdict.timing is not None and verdict.timing.wins


def _job(entry: Entry, task: Task, *, level: str, secret: str, n_threads: int, credit: bool) -> Job:
    """Where credit is the question, against every baseline; else the reference is enough."""
    baselines = ("eager", "compile") if credit else ("eager",)
    limits = LIMITS.model_copy(update={"call_s": entry.call_s})
    given = {"task": task, "candidate": entry.candidate(), "level": level, "secret": secret, "limits": limits}
    rivals = entry.rivals if credit else ()
    return Job.model_validate({**given, "baselines": baselines, "n_threads": n_threads, "user_baselines": rivals})


def _patiently(farm: Farm, job: Job, sleep: Sleep) -> Verdict:
    """A busy machine is quarantined for a while. Raises MachineError when it stays so."""
    for left in reversed(range(N_TRIES)):
        try:
            return farm.submit(job).result()
        except ToolMissingError:
            raise
        except MachineError:
            if not left:
                raise
            sleep(QUIET_S)
    raise AssertionError("unreachable")


def caught(entry: Entry, said: str) -> bool:
    """An attack is caught when the judge said one of what it must say."""
    return said in entry.caught


def accepted(said: str) -> bool:
    return said in ("correct", NO_WIN, WIN)
