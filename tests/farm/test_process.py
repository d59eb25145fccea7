"""The real farm passes the same suite as the others, on a real candidate in real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import JudgeError
from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.testing.farm_case import FarmCase
from tests.conftest import HERE, read_candidate


class TestProcessFarm(FarmCase):
    @pytest.fixture(autouse=True)
    def _task(self, row_scale: Task, cache: Path) -> None:
        self.task, self.cache = row_scale, cache

    def make_farm(self, folder: Path) -> ProcessFarm:
        return ProcessFarm(n_threads=2, cache_dir=self.cache)

    def job(self, number: int = 0) -> Job:
        good = read_candidate(HERE / "hostile" / "candidates" / "good.cpp")
        numbered = SourceFile(path="row_scale.cpp", text=f"{good.files[0].text}\n// {number}\n")
        candidate = good.model_copy(update={"files": (numbered,)})
        return Job(task=self.task, candidate=candidate, secret="0123", n_threads=2, baselines=("eager",))

    def test_preparing_once_makes_the_first_job_as_cheap_as_the_others(self, tmp_path: Path) -> None:
        farm = self.make_farm(tmp_path)
        job = self.job()
        farm.prepare(Preparation(task=job.task, baselines=job.baselines, secret=job.secret, n_threads=2))
        assert farm.submit(job).result(60).correct
        farm.close()

    def test_a_dead_judge_is_an_error_now_and_replaced_for_the_next_job(self, tmp_path: Path) -> None:
        """PE51"""
        farm = self.make_farm(tmp_path)
        ticket = farm.submit(self.job())
        assert farm._process is not None
        farm._process.kill()
        with pytest.raises(JudgeError, match="ended"):
            ticket.result(60)
        assert farm.submit(self.job(1)).result(60).correct
        assert farm.n_started == 2
        farm.close()
