"""The verbs as tools of the Model Context Protocol, by its official SDK: over stdio and over streamable HTTP.

Imported only by who serves it: the SDK is an extra.
"""

from __future__ import annotations

import hmac
import json
from typing import Any

import anyio
import anyio.to_thread
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from kernelevolve import __version__
from kernelevolve.interfaces.agent.helping import agents_page
from kernelevolve.interfaces.agent.http_server import MAX_BODY, allowed_hosts
from kernelevolve.interfaces.agent.service import Service
from kernelevolve.interfaces.agent.verbs import VERBS, Verb

PAGE_URI = "kernelevolve://agents"
PROMPT = "optimise"
MCP_PATH = "/mcp"
INSTRUCTIONS = (
    "kernelevolve judges compute kernels that you write: whether they are right, and whether they really are faster. "
    "Work in this order: open_campaign, then again and again get_brief, propose, job until it is done, and insight "
    "when you learned something; at the end finish, then job until the claim is there. Correctness is checked on "
    f"shapes you are not shown. More is in the resource {PAGE_URI}."
)


def make_server(service: Service) -> Server[Any]:
    """Judging never blocks the event loop: every verb runs in a thread, and none of them takes long."""

    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(verb) for verb in VERBS])

    async def call_tool(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        given = params.arguments or {}
        answered = await anyio.to_thread.run_sync(service.call, params.name, given, abandon_on_cancel=True)
        return _result(answered)

    async def list_resources(context: object, params: object) -> types.ListResourcesResult:
        page = types.Resource(
            name="AGENTS", uri=PAGE_URI, title="How an agent runs a campaign", mime_type="text/markdown"
        )
        return types.ListResourcesResult(resources=[page])

    async def read_resource(context: object, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if str(params.uri) != PAGE_URI:
            raise ValueError(f"there is no resource {params.uri}; the only one is {PAGE_URI}")
        text = types.TextResourceContents(uri=PAGE_URI, mime_type="text/markdown", text=agents_page())
        return types.ReadResourceResult(contents=[text])

    async def list_prompts(context: object, params: object) -> types.ListPromptsResult:
        task = types.PromptArgument(name="task", description="a task's name", required=False)
        about = "Run a campaign for a task, from the opening to the proof"
        return types.ListPromptsResult(prompts=[types.Prompt(name=PROMPT, description=about, arguments=[task])])

    async def get_prompt(context: object, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        task = (params.arguments or {}).get("task") or "a task of your choice"
        text = f"{agents_page()}\n\nNow optimise: {task}"
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(messages=[message])

    return Server(
        "kernelevolve", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools,
        on_call_tool=call_tool, on_list_resources=list_resources, on_read_resource=read_resource,
        on_list_prompts=list_prompts, on_get_prompt=get_prompt,
    )  # fmt: skip


async def serve_stdio(service: Service) -> None:
    """Until standard input ends."""
    server = make_server(service)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(service: Service, *, token: str, host: str, port: int) -> ASGIApp:
    """`POST /mcp` and what belongs to it, for who has the token."""
    hosts = list(allowed_hosts(host, port))
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts,
        allowed_origins=[f"http://{name}" for name in hosts],
    )  # fmt: skip
    app = make_server(service).streamable_http_app(
        streamable_http_path=MCP_PATH, transport_security=security, host=host, max_request_body_size=MAX_BODY
    )
    return _TokenNeeded(app, token)


def serve_http(service: Service, *, token: str, host: str, port: int) -> None:
    """Blocks until it is interrupted."""
    app = http_app(service, token=token, host=host, port=port)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)


class _TokenNeeded:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._token):
                head = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": head})
                await send({"type": "http.response.body", "body": b"send the header Authorization: Bearer TOKEN\n"})
                return
        await self._app(scope, receive, send)


def _tool(verb: type[Verb]) -> types.Tool:
    schema = verb.model_json_schema()
    schema.pop("description", None)
    about = " ".join((verb.__doc__ or "").split())
    hints = types.ToolAnnotations(read_only_hint=not verb.changes, destructive_hint=False, open_world_hint=False)
    return types.Tool(name=verb.name, description=about, input_schema=schema, annotations=hints)


def _result(answered: dict[str, Any]) -> types.CallToolResult:
    """A brief is for reading: it comes as text of its own, and the rest as JSON."""
    text = answered.get("text")
    rest = {name: value for name, value in answered.items() if name != "text"} if text else answered
    content = [types.TextContent(type="text", text=json.dumps(rest, ensure_ascii=False))]
    if isinstance(text, str):
        content.insert(0, types.TextContent(type="text", text=text))
    return types.CallToolResult(content=[*content], structured_content=answered, is_error="error" in answered)
