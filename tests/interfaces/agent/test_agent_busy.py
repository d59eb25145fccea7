"""On a busy machine an agent's finish begins nothing, unless it insists or the machine has become quiet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernelevolve.farm.inline import InlineFarm
from kernelevolve.interfaces.agent.service import Service
from kernelevolve.model.events import Confirmed
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Verdict
from kernelevolve.store import open_store
from kernelevolve.testing.samples import sample_verdict
from tests.campaign.test_busy_finish import beside
from tests.interfaces.agent.sessions import Session, number, opened, session, workshop


class Machine:
    """Its load is turned by hand. Every candidate is correct and twice as fast."""

    def __init__(self) -> None:
        self.load = 2.5
        self.n_looks = 0

    def others_now(self) -> float:
        self.n_looks += 1
        return self.load

    def judge(self, job: Job) -> Verdict:
        verdict = sample_verdict(job.candidate, speedup=2.0)
        assert verdict.timing is not None
        timing = verdict.timing.model_copy(update={"level": job.level})
        return beside(verdict.model_copy(update={"task_id": job.task.content_id, "timing": timing}), self.load)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def agent(tmp_path: Path, machine: Machine) -> Iterator[Session]:
    shop = workshop(tmp_path, farm=lambda: InlineFarm(machine.judge))
    service = Service(replace(shop, others_now=machine.others_now))
    yield session(service)
    service.close()


def with_a_verdict(agent: Session) -> str:
    campaign = opened(agent)
    agent.wait(agent.ok("propose", campaign=campaign, files=number(1))["handle"])
    return campaign


def test_finish_on_a_busy_machine_begins_nothing(agent: Session, tmp_path: Path) -> None:
    campaign = with_a_verdict(agent)
    assert "2.5 other threads" in agent.ok("status", campaign=campaign)["warning"]
    refused = agent("finish", campaign=campaign)["error"]
    assert refused["kind"] == "noisy"
    assert "force=true" in refused["fix"]
    for part in ("2.5 other threads", "the best 1 again", "closes the campaign for good", "Nothing was begun"):
        assert part in refused["message"]
    assert not any(isinstance(event, Confirmed) for event in open_store(tmp_path / "store").read(campaign))
    agent.ok("propose", campaign=campaign, files=number(2))  # the search goes on


def test_who_insists_is_obeyed(agent: Session) -> None:
    campaign = with_a_verdict(agent)
    claim = agent.wait(agent.ok("finish", campaign=campaign, force=True)["handle"])["claim"]
    assert claim["won"]
    assert "2.5 other threads" in claim["sealed"]["warning"]
    assert agent.ok("finish", campaign=campaign)["state"] == "done"


def test_waiting_helps(agent: Session, machine: Machine) -> None:
    campaign = with_a_verdict(agent)
    assert agent.error("finish", campaign=campaign)[0] == "noisy"
    machine.load = 0.0
    assert agent.wait(agent.ok("finish", campaign=campaign)["handle"])["claim"]["won"]


def test_a_quiet_machine_is_not_even_looked_at(agent: Session, machine: Machine) -> None:
    machine.load = 0.0
    campaign = with_a_verdict(agent)
    assert "warning" not in agent.ok("status", campaign=campaign)
    agent.ok("finish", campaign=campaign)
    assert machine.n_looks == 0
