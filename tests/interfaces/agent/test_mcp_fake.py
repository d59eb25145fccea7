"""MCP over both transports, by the SDK's own client, on the fake platform."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2

from kernelevolve.interfaces.agent.mcp_server import PAGE_URI, PROMPT, agents_page
from kernelevolve.interfaces.agent.verbs import VERBS
from tests.interfaces.agent.mcp_parts import TOKEN, McpSession, http_process, over_http, over_stdio
from tests.interfaces.agent.sessions import ROW_SCALE, TASKS, leaks, number


async def campaign_of_three(agent: McpSession) -> dict[str, object]:
    opened = await agent.ok("open_campaign", task=ROW_SCALE, platform="fake", settings={"max_candidates": 3})
    campaign = opened["campaign"]
    for n in (1, 20, 300 - 1):
        brief = await agent.ok("get_brief", campaign=campaign)
        assert "row_scale" in brief["text"]
        handed = await agent.ok("propose", campaign=campaign, ask=brief["ask"], files=number(n), intent=f"try {n}")
        assert (await agent.wait(handed["handle"]))["state"] == "done"
    refused = await agent("propose", campaign=campaign, files=number(5))
    assert refused["error"]["kind"] == "spent"
    handle = (await agent.ok("finish", campaign=campaign))["handle"]
    claim: dict[str, object] = (await agent.wait(handle))["claim"]
    return claim


async def what_a_newcomer_sees(agent: McpSession) -> None:
    tools = (await agent.client.list_tools()).tools
    assert [tool.name for tool in tools] == [verb.name for verb in VERBS]
    for tool in tools:
        assert len(tool.description or "") > 60
        assert tool.input_schema["type"] == "object"
    assert "get_brief, propose, job" in (agent.client.instructions or "")
    page = await agent.client.read_resource(PAGE_URI)
    assert page.contents[0].text == agents_page()
    prompt = await agent.client.get_prompt(PROMPT, {"task": "softmax"})
    assert prompt.messages[0].content.text.endswith("softmax")


def test_a_campaign_over_stdio(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()

    async def script() -> McpSession:
        async with over_stdio(tmp_path / "store", tmp_path / "cache", "--tasks", str(TASKS)) as agent:
            await what_a_newcomer_sees(agent)
            assert (await campaign_of_three(agent))["reason"]
        return agent

    agent = anyio.run(script)
    assert leaks(agent.answers, tmp_path) == []
    assert agent.longest_s < 5.0


def test_a_campaign_over_http(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()

    async def script(url: str) -> McpSession:
        async with over_http(url) as agent:
            await what_a_newcomer_sees(agent)
            assert (await campaign_of_three(agent))["reason"]
        return agent

    with http_process(tmp_path / "store", tmp_path / "cache", "--tasks", str(TASKS)) as url:
        agent = anyio.run(script, url)
        wrong = httpx2.post(url, json={}, headers={"Authorization": "Bearer wrong"})
        none = httpx2.post(url, json={})
        foreign = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        rebound = httpx2.post(url, json={}, headers={**foreign, "Host": "evil.example"})
        page = httpx2.post(url, json={}, headers={**foreign, "Origin": "http://evil.example"})
    assert (wrong.status_code, none.status_code) == (401, 401)
    assert rebound.status_code in (403, 421)
    assert page.status_code == 403
    assert leaks(agent.answers, tmp_path) == []


def test_a_wrong_argument_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()

    async def script() -> None:
        async with over_stdio(tmp_path / "store", tmp_path / "cache") as agent:
            for verb, given in (("status", {}), ("status", {"campaign": "x", "y": 1}), ("job", {"handle": "x"})):
                answered = await agent(verb, **given)
                assert answered["error"]["fix"]

    anyio.run(script)
