from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from kernelevolve.errors import JudgeError, MachineError, UnknownNameError, UsageError
from kernelevolve.farm import make_farm
from kernelevolve.farm.base import Farm
from kernelevolve.farm.fake import FakeFarm, fake_verdict, true_speedup
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.testing.farm_case import FarmCase
from kernelevolve.testing.samples import sample_candidate, sample_task

LUCKY = [number for number in range(50) if int(sample_candidate(number).id[:8], 16) % 100 >= 25]


class FarmOfLuckyCandidates(FarmCase):
    def job(self, number: int = 0) -> Job:
        return Job(task=sample_task(), candidate=sample_candidate(LUCKY[number]), secret="0123")


class TestFakeFarm(FarmOfLuckyCandidates):
    def make_farm(self, folder: Path) -> Farm:
        return FakeFarm()


class TestInlineFarm(FarmOfLuckyCandidates):
    def make_farm(self, folder: Path) -> Farm:
        return InlineFarm(fake_verdict)


def test_a_machine_error_comes_out_of_the_ticket_each_time() -> None:
    calls = []

    def broken(job: Job) -> Verdict:
        calls.append(job)
        raise JudgeError("the judge died")

    ticket = InlineFarm(broken).submit(Job(task=sample_task(), candidate=sample_candidate(), secret="0"))
    for _ in range(2):
        with pytest.raises(MachineError, match="died"):
            ticket.result()
    assert len(calls) == 1


def test_made_up_verdicts_are_varied_and_repeatable() -> None:
    jobs = [Job(task=sample_task(), candidate=sample_candidate(n), secret=str(n)) for n in range(400)]
    verdicts = [fake_verdict(job) for job in jobs]
    counts = Counter(verdict.outcome for verdict in verdicts)
    assert set(counts) == {Outcome.CORRECT, Outcome.BUILD_FAILED, Outcome.CRASHED, Outcome.WRONG}
    assert 0.65 < counts[Outcome.CORRECT] / 400 < 0.85
    assert [fake_verdict(job.model_copy(update={"secret": "other"})) for job in jobs] == verdicts


def test_the_fake_has_something_to_optimise() -> None:
    def speedup(value: int) -> float:
        origin = Origin(proposer="sample", parameters={"value": str(value)})
        return true_speedup(Candidate(language="fake", files=(SourceFile(path="k", text="x"),), origin=origin))

    speedups = [speedup(value) for value in range(1000)]
    best = speedups.index(max(speedups))
    assert max(speedups) > 3.9
    assert speedups[:best] == sorted(speedups[:best])
    assert speedups[best:] == sorted(speedups[best:], reverse=True)
    assert min(speedups) < 1.0


def test_a_job_takes_the_delay_asked_for() -> None:
    ticket = FakeFarm(delay_s=0.05).submit(Job(task=sample_task(), candidate=sample_candidate(), secret="0"))
    started = time.monotonic()
    ticket.result()
    assert time.monotonic() - started >= 0.05


def test_the_table_makes_farms(tmp_path: Path) -> None:
    assert isinstance(make_farm("fake"), FakeFarm)
    assert isinstance(make_farm("inline", evaluate=fake_verdict), InlineFarm)
    make_farm("process", n_threads=1, cache_dir=tmp_path).close()
    with pytest.raises(UsageError, match="cache"):
        make_farm("process")
    with pytest.raises(UsageError, match="judges"):
        make_farm("inline")
    with pytest.raises(UnknownNameError, match="fake, inline, process"):
        make_farm("slurm")
