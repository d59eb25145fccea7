"""What every farm must do. Subclass `FarmCase`, write `make_farm`, and pytest runs the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.farm.base import Farm
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Outcome
from kernelevolve.testing.samples import sample_candidate, sample_task


class FarmCase(ABC):
    """`job` may be overridden: a job for a candidate that the farm finds correct."""

    @abstractmethod
    def make_farm(self, folder: Path) -> Farm: ...

    def job(self, number: int = 0) -> Job:
        return Job(task=sample_task(), candidate=sample_candidate(number), secret="0123")

    @pytest.fixture
    def farm(self, tmp_path: Path) -> Iterator[Farm]:
        farm = self.make_farm(tmp_path)
        yield farm
        farm.close()

    def test_a_verdict_names_its_task_and_candidate(self, farm: Farm) -> None:
        job = self.job()
        verdict = farm.submit(job).result(60)
        assert (verdict.task_id, verdict.candidate_id) == (job.task.content_id, job.candidate.id)
        assert verdict.outcome is Outcome.CORRECT
        assert verdict.timing is not None
        assert verdict.timing.level == "screen"

    def test_tickets_may_be_read_in_any_order_and_again(self, farm: Farm) -> None:
        jobs = [self.job(number) for number in range(3)]
        tickets = [farm.submit(job) for job in jobs]
        verdicts = [ticket.result(60) for ticket in reversed(tickets)]
        assert [verdict.candidate_id for verdict in verdicts[::-1]] == [job.candidate.id for job in jobs]
        assert [ticket.result(60) for ticket in tickets] == verdicts[::-1]
        assert all(ticket.done() for ticket in tickets)

    @pytest.mark.parametrize("level", ["check", "screen", "confirm", "sealed"])
    def test_every_level_is_timed_as_asked(self, farm: Farm, level: str) -> None:
        job = self.job().model_copy(update={"level": level})
        timing = farm.submit(job).result(60).timing
        assert (timing.level if timing else "check") == level

    def test_a_task_is_admitted_by_whatever_describes_it(self, farm: Farm) -> None:
        job = self.job()
        assert farm.admit(job).task_id == job.task.content_id
        assert farm.admit(job).void == ()

    def test_nothing_is_taken_after_the_end(self, tmp_path: Path) -> None:
        farm = self.make_farm(tmp_path)
        farm.close()
        farm.close()
        with pytest.raises(MachineError):
            farm.submit(self.job()).result(60)
