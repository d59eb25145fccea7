"""`kernelevolve serve`: the agent protocol for agents that keep a connection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, StoreOption

TasksOption = Annotated[
    list[Path] | None,
    typer.Option("--tasks", help="A folder agents may take tasks from. May be repeated.", metavar="DIR"),
]
KnowledgeOption = Annotated[
    str, typer.Option("--knowledge", help="Notes that briefs may quote: shipped, none, or a folder of Markdown files.")
]
AllowOption = Annotated[
    bool, typer.Option("--allow-campaigns", help="Agents may read every campaign of the store, winners included.")
]


def serve(
    mcp: Annotated[str, typer.Option("--mcp", help="Speak MCP over: stdio, http.", metavar="TRANSPORT")] = "",
    http: Annotated[bool, typer.Option("--http", help="Speak plain HTTP: POST /v1/VERB with JSON.")] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 with --http takes a free one.")] = 8642,
    token: Annotated[
        str, typer.Option("--token", envvar="KERNELEVOLVE_TOKEN", help="What callers must send. Default: a new one.")
    ] = "",
    tasks: TasksOption = None,
    knowledge: KnowledgeOption = "shipped",
    allow_campaigns: AllowOption = False,
    state: Annotated[
        Path | None, typer.Option("--state", help="Write port and token into this file instead of printing them.")
    ] = None,
    idle_s: Annotated[
        float | None, typer.Option("--idle-s", min=1, help="With --http: end after so many seconds without a call.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print address and token as a JSON object on standard output.")
    ] = False,
) -> int:
    """Let agents drive campaigns: over MCP or plain HTTP. An agent's page comes along as a resource and a prompt."""
    import secrets

    from kernelevolve.errors import UsageError
    from kernelevolve.interfaces.agent.access import Access, Workshop
    from kernelevolve.interfaces.cli.agent_serving import Served, folder_only, run_http, run_mcp
    from kernelevolve.toolchains.cache import default_cache

    if bool(mcp) == http or mcp not in ("", "stdio", "http"):
        raise UsageError("say how to be reached: --mcp stdio, --mcp http or --http")
    if mcp != "stdio" and not token.isascii():
        raise UsageError("the token may hold ASCII characters only")
    folder_only(store)
    access = Access(task_folders=tuple(tasks or ()), knowledge=knowledge, allow_campaigns=allow_campaigns)
    workshop = Workshop(folder=store, cache=default_cache(), access=access)
    served = Served(
        host=host, port=port, token=token or secrets.token_urlsafe(24), shown=not token, as_json=as_json, state=state,
        idle_s=idle_s,
    )  # fmt: skip
    return run_mcp(workshop, served, transport=mcp) if mcp else run_http(workshop, served)
