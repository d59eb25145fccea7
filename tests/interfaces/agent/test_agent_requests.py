"""What an agent may leave out or say in another way: flags alone, a job by its step, notes for its platform."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.farm.fake import fake_verdict
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.interfaces.agent.service import Service
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.verdict import Verdict
from tests.interfaces.agent.sessions import Session, number, opened, session, workshop


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Session]:
    service = Service(workshop(tmp_path))
    yield session(service)
    service.close()


def test_other_flags_alone_are_a_candidate(agent: Session) -> None:
    campaign = opened(agent)
    agent.ok("propose", campaign=campaign, files=number(7), flags=["-O2"])
    step = agent.ok("propose", campaign=campaign, parents=[1], flags=["-O3", "-DX"], intent="-O3")["step"]
    source = agent.ok("verdict", campaign=campaign, step=step, source=True)["source"]
    assert source == {"language": "fake", "flags": ["-O3", "-DX"], "files": number(7)}
    agent.wait(f"{campaign}:2")
    ask = agent.ok("get_brief", campaign=campaign, parents=[2])["ask"]
    step = agent.ok("propose", campaign=campaign, ask=ask, flags=[])["step"]  # the parents are those of the question
    assert agent.ok("verdict", campaign=campaign, step=step, source=True)["source"]["flags"] == []
    agent.wait(f"{campaign}:1")
    same = agent.ok("propose", campaign=campaign, parents=[1], flags=["-O2"])
    assert (same["state"], same["same_as"]) == ("done", 1)


@pytest.mark.parametrize("given", [{"flags": ["-O3"]}, {"parents": [1]}, {"parents": [], "flags": ["-O3"]}])
def test_flags_without_a_parent_or_a_parent_without_flags_are_none(agent: Session, given: dict[str, object]) -> None:
    campaign = opened(agent)
    agent.ok("propose", campaign=campaign, files=number(7))
    kind, message = agent.error("propose", campaign=campaign, **given)
    assert (kind, "or parents with other flags" in message) == ("usage", True)


def test_a_job_may_be_named_with_its_campaign(agent: Session) -> None:
    campaign = opened(agent)
    handle = agent.ok("propose", campaign=campaign, files=number(7))["handle"]
    agent.wait(handle)
    first = agent.ok("job", handle=handle)
    assert agent.ok("job", handle=handle, campaign=campaign) == first
    assert agent.ok("job", handle="1", campaign=campaign) == first
    kind, message = agent.error("job", handle=handle, campaign=opened(agent))
    assert (kind, "is a job of campaign" in message) == ("usage", True)
    assert agent.error("job", handle="1")[0] == "unknown"


def test_a_brief_from_a_step_that_is_not_judged_yet_is_refused(agent: Session) -> None:
    campaign = opened(agent)
    agent.ok("propose", campaign=campaign, files=number(7), evaluate=False)
    kind, message = agent.error("get_brief", campaign=campaign, parents=[1])
    assert (kind, "step 1 is not judged yet" in message) == ("usage", True)


class Gate(InlineFarm):
    """Makes ready, then judges, when it is let."""

    def __init__(self) -> None:
        self.ready, self.open = threading.Event(), threading.Event()
        super().__init__(self._judge)

    def prepare(self, preparation: Preparation) -> None:
        self.ready.wait(10.0)

    def _judge(self, job: Job) -> Verdict:
        self.open.wait(10.0)
        return fake_verdict(job)


def test_a_queued_step_says_its_place(tmp_path: Path) -> None:
    farm = Gate()
    service = Service(workshop(tmp_path, farm=lambda: farm))
    agent = session(service)
    try:
        campaign = opened(agent)
        for n in (10, 20, 30):
            agent.ok("propose", campaign=campaign, files=number(n))
        seen = [agent.ok("job", handle=f"{campaign}:{step}", wait_s=0) for step in (2, 3)]
        assert [(one["state"], one["place"]) for one in seen] == [("queued", 2), ("queued", 3)]
        assert seen[1]["progress"].startswith("2 before it; ")
        farm.ready.set()
        farm.open.set()
        assert "place" not in agent.wait(f"{campaign}:3")
    finally:
        service.close()


def test_after_three_drafts_the_policy_goes_on_from_what_is_correct(agent: Session) -> None:
    campaign = opened(agent)
    operators = []
    for n in (0, 1, 2, 3, 4, 5):
        brief = agent.ok("get_brief", campaign=campaign)
        operators.append(brief["move"]["operator"])
        agent.wait(agent.ok("propose", campaign=campaign, ask=brief["ask"], files=number(n))["handle"])
    correct = [row["step"] for row in agent.ok("tree", campaign=campaign)["rows"] if row["status"] == "correct"]
    assert min(correct) <= 3
    assert operators[:3] == ["draft"] * 3
    assert operators[3] in ("mutate", "cross")
    campaign = opened(agent, n_drafts=1)
    agent.wait(agent.ok("propose", campaign=campaign, files=number(0))["handle"])
    assert agent.ok("get_brief", campaign=campaign)["move"]["operator"] == "mutate"


def test_notes_are_those_for_the_campaigns_platform(agent: Session) -> None:
    campaign = opened(agent)
    query = "matrix multiplication tiles"
    everything = {item["id"].partition("/")[0] for item in agent.ok("knowledge", query=query, limit=20)["snippets"]}
    assert {"cpu", "nvidia"} <= everything
    found = agent.ok("knowledge", query=query, campaign=campaign, limit=20)
    assert "nvidia" not in {item["id"].partition("/")[0] for item in found["snippets"]}
    assert agent.error("knowledge", query=query, campaign="none")[0] == "unknown"
