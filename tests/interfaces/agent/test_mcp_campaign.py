"""A whole campaign on this CPU through MCP alone: real compiler, real judge, a claim at the end."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from kernelevolve.model.events import Closed, Sealed
from kernelevolve.store import open_store
from tests.interfaces.agent.mcp_parts import McpSession, over_stdio
from tests.interfaces.agent.sessions import HIDDEN, TASKS, leaks

GOOD = (TASKS / "candidates" / "good.cpp").read_text()
SLOW = GOOD.replace("#pragma omp simd\n", "").replace("y[r * C + c] = ", "*(volatile float*)&y[r * C + c] = ")
"""Right, and one element after the other."""


def broken(text: str) -> str:
    return text.replace("return 0;", "return 0", 1)


async def script(agent: McpSession) -> str:
    opened = await agent.ok("open_campaign", task="row_scale", settings={"max_candidates": 6, "n_finalists": 2})
    campaign = str(opened["campaign"])
    for intent, text in (("one by one", SLOW), ("by vectors", GOOD)):
        brief = await agent.ok("get_brief", campaign=campaign, parents=[])
        handed = await agent.ok(
            "propose", campaign=campaign, ask=brief["ask"], intent=intent, files={"row_scale.cpp": text}
        )
        assert handed["state"] in ("queued", "running")  # answered before it was judged
    for step in (1, 2):
        done = await agent.wait(f"{campaign}:{step}")
        assert done["verdict"]["outcome"] == "correct", done
    wrong = await agent.ok("propose", campaign=campaign, parents=[2], files={"row_scale.cpp": broken(GOOD)})
    failed = await agent.wait(wrong["handle"])
    assert failed["verdict"]["outcome"] == "build_failed"
    assert failed["verdict"]["compile_messages"]
    brief = await agent.ok("get_brief", campaign=campaign, parents=[3])
    assert "build_failed" in brief["text"] or "does not build" in brief["text"] or "error" in brief["text"]
    again = {"row_scale.cpp": "// once more\n" + GOOD}
    assert (await agent.ok("propose", campaign=campaign, parents=[2], files=again))["same_as"] == 2
    await agent.ok("insight", campaign=campaign, text="vectors win", steps=[2])
    claim = (await agent.wait((await agent.ok("finish", campaign=campaign, force=True))["handle"]))["claim"]
    assert claim["won"], claim
    assert claim["winner"] == 2
    assert claim["sealed"]["timing"]["low"] > 1.0
    return campaign


@pytest.mark.slow
def test_a_campaign_on_cpu_driven_through_mcp_only(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()

    async def run() -> tuple[str, McpSession]:
        async with over_stdio(tmp_path / "store", tmp_path / "cache", "--tasks", str(TASKS)) as agent:
            return await script(agent), agent

    campaign, agent = anyio.run(run)
    events = open_store(tmp_path / "store").read(campaign)
    assert isinstance(events[-1], Closed)
    assert sum(isinstance(event, Sealed) for event in events) == 1
    assert agent.longest_s < 5.0
    assert leaks(agent.answers, tmp_path, hidden=HIDDEN) == []


@pytest.mark.slow
def test_a_hanging_candidate_gets_its_verdict(tmp_path: Path) -> None:
    """PS1, PS2: its evaluation is answered at once, and ends as a timeout; the next one is judged as ever."""
    (tmp_path / "cache").mkdir()
    hanging = (TASKS / "candidates" / "sleeps_forever.cpp").read_text()

    async def run() -> McpSession:
        async with over_stdio(tmp_path / "store", tmp_path / "cache", "--tasks", str(TASKS)) as agent:
            opened = await agent.ok("open_campaign", task="row_scale")
            for text in (hanging, GOOD):
                await agent.ok("propose", campaign=opened["campaign"], files={"row_scale.cpp": text})
            assert (await agent.wait(f"{opened['campaign']}:1"))["verdict"]["outcome"] == "timeout"
            assert (await agent.wait(f"{opened['campaign']}:2"))["verdict"]["outcome"] == "correct"
        return agent

    agent = anyio.run(run)
    assert agent.longest_s < 5.0
    assert leaks(agent.answers, tmp_path) == []
