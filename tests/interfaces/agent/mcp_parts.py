"""A scripted MCP client: the official SDK's, over stdio or HTTP, with the verbs as in `Session`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

CLI = [sys.executable, "-m", "kernelevolve.interfaces.cli.main"]
TOKEN = "a-token-of-the-test"
MEASURES = ("open_campaign", "platforms")
"""They measure the machine, the first time it is asked for."""


class McpSession:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.answers: list[dict[str, Any]] = []
        self.longest_s = 0.0

    async def __call__(self, verb: str, **given: Any) -> dict[str, Any]:
        started = time.monotonic()
        result = await self.client.call_tool(verb, given)
        if verb not in MEASURES:
            self.longest_s = max(self.longest_s, time.monotonic() - started)
        answered: dict[str, Any] = result.structured_content
        assert result.is_error == ("error" in answered)
        assert json.loads(result.content[-1].text).items() <= answered.items()  # clients that read text see it too
        self.answers.append(answered)
        return answered

    async def ok(self, verb: str, **given: Any) -> dict[str, Any]:
        answered = await self(verb, **given)
        assert "error" not in answered, answered
        return answered

    async def wait(self, handle: str, *, n: int = 200) -> dict[str, Any]:
        for _ in range(n):
            answered = await self.ok("job", handle=handle)
            if answered["state"] not in ("queued", "running"):
                return answered
        raise AssertionError(f"{handle} is never done: {answered}")


@asynccontextmanager
async def over_stdio(store: Path, cache: Path, *arguments: str) -> AsyncIterator[McpSession]:
    command = [*CLI[1:], "serve", "--mcp", "stdio", "--store", str(store), *arguments]
    environment = {"KERNELEVOLVE_CACHE": str(cache), "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    with (cache / "server.log").open("w") as log:
        parameters = StdioServerParameters(command=CLI[0], args=command, env=environment)
        async with Client(stdio_client(parameters, errlog=log)) as client:
            yield McpSession(client)


@contextmanager
def http_process(store: Path, cache: Path, *arguments: str) -> Iterator[str]:
    """A server in a process of its own; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*CLI, "serve", "--mcp", "http", "--port", str(port), "--store", str(store), "--json", *arguments]
    environment = {**os.environ, "KERNELEVOLVE_CACHE": str(cache), "KERNELEVOLVE_TOKEN": TOKEN}
    with (cache / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        _until_it_listens(port)
        yield url
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[McpSession]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30.0) as web,
        Client(streamable_http_client(url, http_client=web)) as client,
    ):
        yield McpSession(client)


def _until_it_listens(port: int) -> None:
    for _ in range(200):
        with socket.socket() as wanted:
            if wanted.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server does not listen")
