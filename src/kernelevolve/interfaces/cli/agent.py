"""`kernelevolve agent VERB`: the agent protocol for agents that have a shell and no MCP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, StoreOption

if TYPE_CHECKING:
    from kernelevolve.interfaces.agent.client import Client

POLL_S = 4.0


def agent(
    verb: Annotated[
        str,
        typer.Argument(help="tasks, open_campaign, propose, ...; `help`: the agent's page; `stop`: end the server."),
    ],
    arguments: Annotated[
        str,
        typer.Argument(
            help="The verb's arguments as a JSON object; - reads it from standard input. With help: a verb."
        ),
    ] = "{}",
    as_json: Annotated[bool, typer.Option("--json", help="Answers are JSON in any case; taken for uniformity.")] = True,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--file", help="With propose: a source file, called by its base name. May be repeated.", metavar="FILE"
        ),
    ] = None,
    wait_s: Annotated[
        float, typer.Option("--wait-s", min=0, help="With propose, evaluate, job, finish: poll until done, so long.")
    ] = 0.0,
    tasks: Annotated[
        list[Path] | None,
        typer.Option("--tasks", help="When a server is started: folders tasks may come from. Default: this one."),
    ] = None,
    idle_s: Annotated[
        float, typer.Option("--idle-s", min=1, help="When a server is started: it ends after so long without a call.")
    ] = 900.0,
    store: StoreOption = DEFAULT_STORE,
) -> int:
    """Drive a campaign from a shell. The first call starts a server that judges in the background."""
    import json

    from kernelevolve.interfaces.agent.client import Client
    from kernelevolve.interfaces.cli.agent_serving import folder_only
    from kernelevolve.interfaces.cli.border import MACHINE, OK, USAGE

    if verb == "help":
        from kernelevolve.interfaces.agent.helping import agents_page, verb_page

        print(agents_page() if arguments == "{}" else verb_page(arguments))
        return OK
    folder_only(store)
    if verb == "stop":
        print(json.dumps(Client(store.resolve()).stop()))
        return OK
    given = _given(arguments, files or [])
    folders = tuple(str(folder.resolve()) for folder in tasks or [Path.cwd()])
    more = tuple(word for folder in folders for word in ("--tasks", folder))
    client = Client(store.resolve(), arguments=more, idle_s=idle_s)
    answered = _waited(client, client.call(verb, given), wait_s)
    print(json.dumps(answered, allow_nan=False))
    if "error" not in answered:
        return OK
    return MACHINE if answered["error"]["kind"] in ("machine", "record") else USAGE


def _given(arguments: str, files: list[Path]) -> dict[str, Any]:
    """Raises UsageError for what is no JSON object, or a file that cannot be read."""
    import json
    import sys

    from kernelevolve.errors import UsageError

    text = sys.stdin.read() if arguments == "-" else arguments
    try:
        given = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(f"the arguments are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise UsageError('the arguments are not a JSON object: {"campaign": ...}')
    if files:
        try:
            given["files"] = {path.name: path.read_text(encoding="utf-8") for path in files}
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read a candidate's file: {error}") from error
    return given


def _waited(client: Client, answered: dict[str, Any], wait_s: float) -> dict[str, Any]:
    import time

    end = time.monotonic() + wait_s
    while answered.get("state") in ("queued", "running") and (left := end - time.monotonic()) > 0:
        answered = client.call("job", {"handle": answered["handle"], "wait_s": min(POLL_S, left)})
    return answered
