"""A campaign driven from outside: its record is an ordinary one, and a kill loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelevolve.campaign.driven import Driven
from kernelevolve.campaign.driver_lock import DriverLock
from kernelevolve.errors import BusyError, SpentError, UsageError
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Answered, Asked, Judged, Proposed, Settings
from kernelevolve.proposers import make_proposer
from kernelevolve.search import make_policy
from kernelevolve.search.tree import Tree
from kernelevolve.store import open_store
from kernelevolve.store.base import Store
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_candidate, sample_opened
from tests.campaign.parts import CountingFarm, judge_by_number, numbered, run

AGENT = Settings(proposer="agent", platform="fake", max_candidates=5, max_seconds=1e6)
DRAFT = Move(operator=Operator.DRAFT)
FAST = judge_by_number({"screen": {n: 1.0 + n / 10 for n in range(1, 20)}})


def driven(store: Store, campaign: str, farm: InlineFarm | None = None) -> Driven:
    return Driven(
        store=store, campaign_id=campaign, farm=farm or CountingFarm(FAST), policy=make_policy("greedy", AGENT)
    )


def judged(campaign: Driven, step: int) -> None:
    campaign.evaluate(step)
    campaign.wait(lambda: campaign.progress(step).state in ("done", "failed"), 10.0)
    assert campaign.progress(step).state == "done"


def test_the_record_is_that_of_any_campaign() -> None:
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(AGENT))
    here = driven(store, campaign)
    for number, candidate in enumerate(numbered(1, 2, 3), 1):
        asked = here.ask(None)
        here.propose(candidate, move=asked.asked.move, ask=asked.asked.ask)
        judged(here, number)
    here.finish()
    here.wait(lambda: here.finish_progress.state == "done", 10.0)
    here.close()
    events = store.read(campaign)
    tree = Tree(events)
    assert (tree.closed is not None, tree.open_asks) == (True, [])
    kinds = [type(event) for event in events]
    for first, then in ((Asked, Proposed), (Proposed, Answered), (Answered, Judged)):
        assert [kinds.index(first), kinds.index(then)] == sorted([kinds.index(first), kinds.index(then)])
    closed, _, _ = run(settings=AGENT, store=store, campaign=campaign)  # as `resume` would find it
    assert closed == tree.closed


def test_a_question_asked_again_at_once_is_the_same() -> None:
    store = MemoryStore()
    here = driven(store, store.open_campaign(sample_opened(AGENT)))
    first, second = here.ask(DRAFT), here.ask(DRAFT)
    assert first == second
    here.propose(sample_candidate(1), move=DRAFT, ask=first.asked.ask)
    assert here.ask(DRAFT).asked.ask == 2
    here.close()


def test_questions_nobody_answered_are_closed_at_the_end() -> None:
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(AGENT))
    here = driven(store, campaign)
    here.ask(DRAFT)
    here.finish()
    here.wait(lambda: here.finish_progress.state == "done", 10.0)
    assert Tree(store.read(campaign)).open_asks == []
    here.close()


def test_limits() -> None:
    store = MemoryStore()
    here = driven(store, store.open_campaign(sample_opened(AGENT)))
    for number in range(1, 6):
        here.propose(sample_candidate(number), move=DRAFT, ask=None)
    with pytest.raises(SpentError, match="all 5 candidates"):
        here.propose(sample_candidate(6), move=DRAFT, ask=None)
    judged(here, 5)  # what was proposed is still judged
    with pytest.raises(UsageError, match="an insight has"):
        here.insight(" ", (), "")
    here.close()


def test_an_agents_campaign_is_not_for_the_loop_to_finish() -> None:
    """`resume` says how to go on, and the agent still can."""
    store = MemoryStore()
    campaign = store.open_campaign(sample_opened(AGENT))
    here = driven(store, campaign)
    here.propose(sample_candidate(1), move=DRAFT, ask=None)
    judged(here, 1)
    here.close()
    here.join(5.0)
    with pytest.raises(UsageError, match="kernelevolve serve --mcp stdio"):
        run(settings=AGENT, store=store, campaign=campaign, proposer=make_proposer("agent"), farm=CountingFarm(FAST))
    again = driven(store, campaign)
    again.ask(None)
    again.finish()
    again.wait(lambda: again.finish_progress.state == "done", 10.0)
    assert Tree(store.read(campaign)).open_asks == []
    again.close()


def test_one_driver_at_a_time(tmp_path: Path) -> None:
    lock = DriverLock(tmp_path, "one")
    DriverLock(tmp_path, "two").release()
    with pytest.raises(BusyError, match=f"process {os.getpid()}"):
        DriverLock(tmp_path, "one")
    lock.release()
    lock.release()
    DriverLock(tmp_path, "one").release()


KILLED = """
import sys, time
from pathlib import Path
from kernelevolve.campaign.driven import Driven
from kernelevolve.campaign.driver_lock import DriverLock
from kernelevolve.farm.fake import FakeFarm
from kernelevolve.model.brief import Move, Operator
from kernelevolve.search import make_policy
from kernelevolve.store import open_store
from kernelevolve.testing.samples import sample_candidate
store, campaign = open_store(Path(sys.argv[1])), sys.argv[2]
lock = DriverLock(Path(sys.argv[1]), campaign)
farm, policy = FakeFarm(delay_s=0.05), make_policy("greedy", here_settings)
here = Driven(store=store, campaign_id=campaign, farm=farm, policy=policy)
for number in range(1, 30):
    here.evaluate(here.propose(sample_candidate(number), move=Move(operator=Operator.DRAFT), ask=None).step)
print("proposed", flush=True)
time.sleep(60)
"""


def test_a_killed_driver_is_taken_over(tmp_path: Path) -> None:
    """PE56: whatever was proposed is judged once, by the one or the other; the lock of the dead holds nobody up."""
    settings = AGENT.model_copy(update={"max_candidates": 50})
    store = open_store(tmp_path)
    campaign = store.open_campaign(sample_opened(settings))
    script = KILLED.replace("here_settings", "store.read(campaign)[0].settings")
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), campaign], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "proposed\n"
        time.sleep(0.4)
        process.send_signal(signal.SIGKILL)
    before = {event.step for event in store.read(campaign) if isinstance(event, Judged)}
    assert 0 < len(before) < 29
    lock = DriverLock(tmp_path, campaign)
    farm = CountingFarm()
    here = driven(store, campaign, farm)
    here.wait(lambda: not here.tree.pending, 20.0)
    here.close()
    lock.release()
    steps = [event.step for event in store.read(campaign) if isinstance(event, Judged)]
    assert sorted(steps) == list(range(1, 30))
    assert len(farm.jobs) == 29 - len(before)
