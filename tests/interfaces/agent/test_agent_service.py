"""The verbs over the fake farm: whole sessions, every kind of error, restarts, and what an agent gets to see."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.errors import JudgeError
from kernelevolve.farm.fake import fake_verdict
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.interfaces.agent.service import Service
from kernelevolve.model.events import Answered, Asked, Judged, Proposed, Reserved
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.verdict import Verdict
from kernelevolve.store import open_store
from tests.interfaces.agent.sessions import ROW_SCALE, Session, leaks, number, opened, session, workshop


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(workshop(tmp_path))
    yield made
    made.close()


@pytest.fixture
def agent(service: Service) -> Session:
    return session(service)


def test_a_whole_campaign(agent: Session, tmp_path: Path) -> None:
    campaign = opened(agent, max_candidates=8)
    for n in range(8):
        brief = agent.ok("get_brief", campaign=campaign)
        handed = agent.ok(
            "propose", campaign=campaign, ask=brief["ask"], files=number(n * 90), intent=f"value {n * 90}"
        )
        done = agent.wait(handed["handle"])
        assert done["state"] == "done"
        assert done["verdict"]["correct"] == (done["verdict"]["timing"] is not None)
    agent.ok("insight", campaign=campaign, text="small numbers win", steps=[1, 2])
    claim = agent.wait(agent.ok("finish", campaign=campaign)["handle"])["claim"]
    assert claim["won"]
    assert claim["sealed"]["timing"]["low"] > 1.0
    status = agent.ok("status", campaign=campaign)
    assert (status["state"], status["claim"]) == ("closed", claim)
    events = open_store(tmp_path / "store").read(campaign)
    kinds = [type(event) for event in events]
    assert (kinds.count(Asked), kinds.count(Answered), kinds.count(Proposed)) == (8, 8, 8)


def test_a_validated_task_starts_without_any_call_to_a_model(agent: Session, tmp_path: Path) -> None:
    """PS49"""
    campaign = opened(agent)
    agent.ok("get_brief", campaign=campaign)
    events = open_store(tmp_path / "store").read(campaign)
    assert not any(isinstance(event, Reserved) for event in events)


def test_nothing_hidden_is_in_any_answer_of_a_session(agent: Session, tmp_path: Path) -> None:
    campaign = opened(agent, max_candidates=41)
    agent("tasks"), agent("platforms"), agent("campaigns")
    for n in range(40):
        step = agent.ok("propose", campaign=campaign, files=number(n * 24), parents=[n] if n else [])["step"]
        agent.wait(f"{campaign}:{step}")
        agent.ok("get_brief", campaign=campaign)
        agent.ok("get_brief", campaign=campaign, parents=[step], memory="both")
        agent.ok("verdict", campaign=campaign, step=step, source=True)
    outcomes = {row["status"] for row in agent.ok("tree", campaign=campaign, limit=200)["rows"]}
    assert {"correct", "wrong", "build_failed"} <= outcomes
    agent.ok("status", campaign=campaign)
    agent.wait(agent.ok("finish", campaign=campaign)["handle"])
    agent("status", campaign=campaign), agent("campaigns")
    assert leaks(agent.answers, tmp_path) == []


def test_a_brief_cannot_be_used_to_ask_which_numbers_are_hidden(agent: Session) -> None:
    """What an agent wrote itself comes back as it was: blotting out hidden sizes in it would tell them."""
    campaign = opened(agent)
    asking = " ".join(f"R={n} C={n} {n} {n * 257}" for n in (250, 257, 258, 300, 311, 312))
    for n in range(12):  # some of them fail
        text = f"row_scale\nvalue = {n}\n// {asking}\n"
        handed = agent.ok(
            "propose", campaign=campaign, files={"row_scale.fake": text}, intent=asking, parents=[n] if n else []
        )
        agent.wait(handed["handle"])
    agent.ok("insight", campaign=campaign, text=asking, steps=[12])
    for step in range(1, 13):
        for memory in ("lineage", "siblings", "both"):
            text = agent.ok("get_brief", campaign=campaign, parents=[step], memory=memory)["text"]
            assert asking in text
            assert "(hidden)" not in text


def test_the_reference_is_shown_without_how_inputs_are_drawn(agent: Session) -> None:
    task = agent.ok("open_campaign", task=ROW_SCALE, platform="fake")["task"]
    assert "return x * w + 1" in task["reference"]
    assert "make_inputs" not in task["reference"]


def test_a_repeat_gets_the_old_verdict_at_once(agent: Session) -> None:
    """PS5: no job for a candidate that differs in comments only."""
    campaign = opened(agent)
    agent.wait(agent.ok("propose", campaign=campaign, files=number(7))["handle"])
    again = agent.ok("propose", campaign=campaign, files=number(7), intent="the same")
    assert (again["state"], again["same_as"]) == ("done", 1)


def test_a_judged_step_is_not_measured_again_and_says_so(agent: Session) -> None:
    campaign = opened(agent)
    first = agent.ok("propose", campaign=campaign, files=number(7))
    done = agent.wait(first["handle"])
    assert "note" not in first
    again = agent.ok("evaluate", campaign=campaign, step=1)
    assert (again["verdict"], "judged once" in again["note"]) == (done["verdict"], True)


def test_a_brief_names_the_steps_that_are_not_judged_yet(agent: Session) -> None:
    campaign = opened(agent)
    agent.ok("propose", campaign=campaign, files=number(7), intent="seven", evaluate=False)
    brief = agent.ok("get_brief", campaign=campaign)
    assert brief["waiting"] == [1]
    assert "Handed in and not judged yet (1), not to be made again: `seven`" in brief["text"]


def test_while_inputs_are_drawn_the_first_verdict_says_so(tmp_path: Path) -> None:
    farm = SlowStart()
    with Closing(Service(workshop(tmp_path, farm=lambda: farm))) as service:
        agent = session(service)
        handed = agent.ok("propose", campaign=opened(agent), files=number(1))
        farm.started.wait(5.0)
        seen = agent.ok("job", handle=handed["handle"], wait_s=0)
        assert (seen["state"], seen["progress"]) == (
            "running",
            "drawing inputs, computing answers, compiling baselines",
        )
        farm.open.set()
        assert agent.wait(handed["handle"])["state"] == "done"


def test_tasks_in_the_folders_are_listed_and_fake_is_not(agent: Session) -> None:
    found = {row["name"]: row for row in agent.ok("tasks")["local"]}
    assert found["row_scale"]["format"] == "native"
    agent.ok("open_campaign", task="row_scale", platform="fake")
    names = [row["name"] for row in agent.ok("platforms")["platforms"]]
    assert "fake" not in names
    assert "fake" in [row["name"] for row in agent.ok("platforms", all=True)["platforms"]]


def test_baselines_and_threads_are_named(agent: Session) -> None:
    answered = agent.ok("open_campaign", task=ROW_SCALE, platform="fake", settings={"n_threads": 2})
    assert answered["baselines"] == ["PyTorch eager", "torch.compile"]
    done = agent.wait(agent.ok("propose", campaign=answered["campaign"], files=number(0))["handle"])
    assert done["n_threads"] == 2


def test_the_repeat_of_an_unjudged_one_waits_for_it(tmp_path: Path) -> None:
    farm = Gate()
    with Closing(Service(workshop(tmp_path, farm=lambda: farm))) as service:
        agent = session(service)
        campaign = opened(agent)
        agent.ok("propose", campaign=campaign, files=number(7))
        twin = agent.ok("propose", campaign=campaign, files=number(7))
        assert twin["state"] in ("queued", "running")
        farm.open.set()
        assert agent.wait(twin["handle"])["same_as"] == 1
        assert farm.n_judged == 1


def test_edits_and_patches_start_from_the_parent(agent: Session) -> None:
    campaign = opened(agent)
    agent.ok("propose", campaign=campaign, files=number(7), flags=["-O2"])
    edit = {"file": "row_scale.fake", "search": "value = 7", "replace": "value = 8"}
    agent.ok("propose", campaign=campaign, parents=[1], edits=[edit])
    patch = "--- a/row_scale.fake\n+++ b/row_scale.fake\n@@ -1,2 +1,2 @@\n row_scale\n-value = 8\n+value = 9\n"
    agent.ok("propose", campaign=campaign, parents=[2], patch=patch)
    source = agent.ok("verdict", campaign=campaign, step=3, source=True)["source"]
    assert source == {"language": "fake", "flags": ["-O2"], "files": number(9)}
    lineage = agent.ok("tree", campaign=campaign, lineage=3)["rows"]
    assert [row["step"] for row in lineage] == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({}, "one of files, edits and patch"),
        ({"files": {"a.fake": "x"}, "patch": "y"}, "files and patch"),
        ({"patch": "--- a/x\n+++ b/x\n"}, "need a parent"),
        ({"files": {"../a.fake": "x"}}, "must be a relative path"),
        ({"files": {"/etc/a.fake": "x"}}, "must be a relative path"),
        ({"files": {"a.cpp": "x"}, "language": "cpp"}, "unknown language on platform fake"),
        ({"files": {"a.fake": "x" * (2**20 + 1)}}, "at most"),
        ({"files": {f"{n}.fake": "x" for n in range(65)}}, "at most 64 files"),
        ({"files": {"a.fake": "\ud800"}}, "is not text"),
        ({"files": {"a.fake": "x"}, "ask": 9}, "no question 9"),
        ({"files": {"a.fake": "x"}, "parents": [5]}, "no step 5"),
        ({"files": {"a.fake": "x"}, "fles": 1}, "fles"),
    ],
)
def test_a_bad_proposal_is_told_what_is_wrong(agent: Session, given: dict[str, object], what: str) -> None:
    campaign = opened(agent)
    kind, message = agent.error("propose", campaign=campaign, **given)
    assert kind in ("usage", "unknown", "record")
    assert what in message
    assert agent.ok("status", campaign=campaign)["budget"]["candidates_used"] == 0


def test_spent_candidates_and_spent_time(agent: Session) -> None:
    campaign = opened(agent, max_candidates=1)
    agent.wait(agent.ok("propose", campaign=campaign, files=number(1))["handle"])
    kind, message = agent.error("propose", campaign=campaign, files=number(2))
    assert (kind, "call finish" in message) == ("spent", True)
    kind, _ = agent.error("get_brief", campaign=campaign)
    assert kind == "spent"
    campaign = opened(agent, max_seconds=1e-9)
    agent.wait(agent.ok("propose", campaign=campaign, files=number(1))["handle"])
    assert agent.error("propose", campaign=campaign, files=number(2))[0] == "spent"


def test_thinking_costs_no_judging_time(service: Service, agent: Session) -> None:
    campaign = opened(agent, max_seconds=0.2)
    time.sleep(0.3)
    assert agent.wait(agent.ok("propose", campaign=campaign, files=number(3))["handle"])["state"] == "done"


def test_after_the_finish_nothing_is_proposed(agent: Session) -> None:
    campaign = opened(agent)
    agent.wait(agent.ok("propose", campaign=campaign, files=number(1))["handle"])
    agent.wait(agent.ok("finish", campaign=campaign)["handle"])
    for verb, given in (("propose", {"files": number(2)}), ("get_brief", {})):
        kind, message = agent.error(verb, campaign=campaign, **given)
        assert (kind, "is over" in message) == ("closed", True)
    assert agent.ok("finish", campaign=campaign)["state"] == "done"


def test_two_servers_cannot_drive_one_campaign(service: Service, agent: Session, tmp_path: Path) -> None:
    campaign = opened(agent)
    with Closing(Service(workshop(tmp_path))) as other:
        kind, message = session(other).error("get_brief", campaign=campaign)
        assert kind == "busy"
        assert "driven by another one" in message
        service.close()
        session(other).ok("get_brief", campaign=campaign)


def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    stuck = Gate()
    with Closing(Service(workshop(tmp_path, farm=lambda: stuck))) as service:
        agent = session(service)
        campaign = opened(agent)
        for n in (1, 2, 3):
            agent.ok("propose", campaign=campaign, files=number(n * 100), evaluate=n < 3)
    stuck.open.set()
    with Closing(Service(workshop(tmp_path))) as service:
        agent = session(service)
        assert [row["campaign"] for row in agent.ok("campaigns")["campaigns"]] == [campaign]
        for step in (1, 2, 3):
            assert agent.wait(f"{campaign}:{step}")["state"] == "done"
    judged = [event.step for event in open_store(tmp_path / "store").read(campaign) if isinstance(event, Judged)]
    assert sorted(judged) == [1, 2, 3]


def test_the_machines_fault_is_no_verdict(tmp_path: Path) -> None:
    faults = ["the disk is full"] * 4

    def judge(job: Job) -> Verdict:
        if faults:
            raise JudgeError(faults.pop())
        return fake_verdict(job)

    with Closing(Service(workshop(tmp_path, farm=lambda: InlineFarm(judge)))) as service:
        agent = session(service)
        campaign = opened(agent)
        failed = agent.wait(agent.ok("propose", campaign=campaign, files=number(1))["handle"])
        assert (failed["state"], "disk is full" in failed["progress"]) == ("failed", True)
        assert agent.wait(agent.ok("evaluate", campaign=campaign, step=1)["handle"])["state"] == "done"


def test_every_verb_answers_soon_while_a_judge_is_slow(tmp_path: Path) -> None:
    """PS1: nobody waits for an evaluation."""
    slow = Gate()
    with Closing(Service(workshop(tmp_path, farm=lambda: slow))) as service:
        agent = session(service)
        campaign = opened(agent)
        started = time.monotonic()
        for n in range(10):
            agent.ok("propose", campaign=campaign, files=number(n))
        agent.ok("get_brief", campaign=campaign), agent.ok("status", campaign=campaign)
        assert agent.ok("job", handle=f"{campaign}:1", wait_s=0.1)["state"] == "running"
        assert agent.ok("job", handle=f"{campaign}:9", wait_s=0)["state"] == "queued"
        assert agent.ok("finish", campaign=campaign)["state"] == "queued"
        assert time.monotonic() - started < 3.0
        slow.open.set()
        assert agent.wait(f"{campaign}:finish")["state"] == "done"


def test_other_campaigns_are_not_an_agents_business(service: Service, agent: Session, tmp_path: Path) -> None:
    campaign = opened(agent)
    agent.wait(agent.ok("propose", campaign=campaign, files=number(1))["handle"])
    agent.wait(agent.ok("finish", campaign=campaign)["handle"])
    with Closing(Service(workshop(tmp_path))) as other:
        stranger = session(other)
        assert stranger.ok("campaigns")["campaigns"] == []
        for verb in ("tree", "status", "get_brief", "finish"):
            kind, message = stranger.error(verb, campaign=campaign)
            assert (kind, campaign in message.split("known:")[1]) == ("unknown", False)
        assert stranger.error("verdict", campaign=campaign, step=1)[0] == "unknown"
    with Closing(Service(workshop(tmp_path, allow_campaigns=True))) as other:
        assert session(other).ok("verdict", campaign=campaign, step=1, source=True)["source"]["files"] == number(1)


def test_tasks_come_from_named_folders_only(tmp_path: Path) -> None:
    with Closing(Service(workshop(tmp_path, task_folders=()))) as service:
        for path in (ROW_SCALE, "../hostile/row_scale", "/etc/passwd", "row_scale"):
            assert session(service).error("open_campaign", task=path, platform="fake")[0] == "unknown"


def test_many_threads_share_one_campaign(agent: Session, tmp_path: Path) -> None:
    campaign = opened(agent, max_candidates=100)

    def work(first: int) -> None:
        for n in range(first, first + 10):
            agent.ok("get_brief", campaign=campaign)
            agent.ok("propose", campaign=campaign, files=number(n))

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for step in range(1, 41):
        assert agent.wait(f"{campaign}:{step}")["state"] == "done"
    tree = agent.ok("tree", campaign=campaign, limit=200)
    assert tree["n_candidates"] == 40


class Gate(InlineFarm):
    """Judges when it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.n_judged = 0
        super().__init__(self._judge)

    def _judge(self, job: Job) -> Verdict:
        while not self.open.wait(0.01):
            if self._closed:
                raise JudgeError("closed meanwhile")
        self.n_judged += 1
        return fake_verdict(job)


class SlowStart(InlineFarm):
    """Makes ready until `open` is set."""

    def __init__(self) -> None:
        self.open, self.started = threading.Event(), threading.Event()
        super().__init__(fake_verdict)

    def prepare(self, preparation: Preparation) -> None:
        self.started.set()
        self.open.wait(10.0)


class Closing:
    def __init__(self, service: Service) -> None:
        self._service = service

    def __enter__(self) -> Service:
        return self._service

    def __exit__(self, *_: object) -> None:
        self._service.close()
