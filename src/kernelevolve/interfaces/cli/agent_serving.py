"""Serving the agent protocol until it is ended: by a signal, by the end of standard input, or by nobody calling."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kernelevolve.errors import ToolMissingError, UsageError
from kernelevolve.interfaces.agent.access import Workshop
from kernelevolve.interfaces.agent.client import ServerState, write_state
from kernelevolve.interfaces.agent.http_server import LOCAL, HttpServer
from kernelevolve.interfaces.agent.service import Service
from kernelevolve.interfaces.cli.border import terminated_like_interrupted
from kernelevolve.interfaces.cli.output import print_json
from kernelevolve.store.place import store_url


@dataclass(frozen=True, kw_only=True)
class Served:
    """How a server is reached. `shown`: its token is a new one, and told once. `state`: a file to tell it in instead.
    `idle_s`: end after so long without a call; None never."""

    host: str
    port: int
    token: str
    shown: bool
    as_json: bool = False
    state: Path | None = None
    idle_s: float | None = None


def folder_only(store: Path) -> None:
    """One driver per campaign is ensured by a lock on a file. Raises UsageError for a store that many hosts share."""
    if store_url(store) is not None:
        raise UsageError(
            "agents are served from a store in a folder: --store DIR; archive and unarchive move campaigns"
        )


def run_mcp(workshop: Workshop, served: Served, *, transport: str) -> int:
    """Raises ToolMissingError without the SDK."""
    try:
        import anyio

        from kernelevolve.interfaces.agent.mcp_server import MCP_PATH, serve_http, serve_stdio
    except ModuleNotFoundError as error:
        raise ToolMissingError(
            f"MCP needs its SDK ({error.name} is missing): pip install 'kernelevolve[mcp]'"
        ) from error
    if transport == "http" and served.port == 0:
        raise UsageError("--mcp http needs a port of its own: --port 8642")
    with terminated_like_interrupted(), closing(Service(workshop)) as service:
        if transport == "stdio":
            anyio.run(serve_stdio, service)
            return 0
        _announce(served, f"http://{served.host}:{served.port}{MCP_PATH}")
        serve_http(service, token=served.token, host=served.host, port=served.port)
    return 0


def run_http(workshop: Workshop, served: Served) -> int:
    with (
        terminated_like_interrupted(),
        closing(Service(workshop)) as service,
        HttpServer(
            service, token=served.token, host=served.host, port=served.port, may_be_stopped=served.state is not None
        ) as server,
    ):
        if served.state is not None:
            write_state(served.state, ServerState(port=server.port, pid=os.getpid(), token=served.token))
        else:
            _announce(served, f"http://{served.host}:{server.port}/v1/VERB")
        try:
            server.serve_until_idle(served.idle_s)
        except KeyboardInterrupt:
            pass
        finally:
            if served.state is not None:
                served.state.unlink(missing_ok=True)
    return 0


def _announce(served: Served, url: str) -> None:
    """The token is told once, and not at all when it was given."""
    if served.as_json:
        print_json("serve", {"url": url, **({"token": served.token} if served.shown else {})})
        sys.stdout.flush()
    else:
        print(url, file=sys.stderr)
        if served.shown:
            print(f"token (told once): {served.token}", file=sys.stderr, flush=True)
    if served.host not in LOCAL:
        print("warning: reachable from other machines, and not encrypted; put TLS in front", file=sys.stderr)
