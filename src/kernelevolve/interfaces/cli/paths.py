"""Shape paths on the command line: what --where and --path mean, and a family of campaigns, one per path."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.model.task import Task
    from kernelevolve.store.base import Store
    from kernelevolve.tasks.document import PathEntry

WhereOption = Annotated[
    str,
    typer.Option("--where", help="Only this part of the domain: B=1,K=128 or B=1..4 or B>=16.", metavar="SHAPES"),
]
PathOption = Annotated[
    list[str] | None,
    typer.Option(
        "--path",
        help="A campaign of its own for a part of the domain. NAME alone: a path of task.toml; all: each of them, "
        "sharing --max-seconds by weight. May be repeated.",
        metavar="NAME=SHAPES[:SECONDS]",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ShapePath:
    name: str
    where: str
    max_seconds: float


def load_part(reference: str, *, platform: str, where: str, as_shipped: bool = False) -> Task:
    """A task, narrowed when `where` says so."""
    from kernelevolve.model.paths import Where, narrowed
    from kernelevolve.tasks import load_task

    task = load_task(reference, platform=platform, as_shipped=as_shipped)
    return narrowed(task, Where.parse(where)) if where else task


def read_paths(words: Sequence[str], declared: Sequence[PathEntry], *, max_seconds: float) -> list[ShapePath]:
    """`max_seconds` is for each path that names no time of its own, and for all of them together in `--path all`.
    Raises UsageError."""
    from kernelevolve.errors import UsageError

    found: list[ShapePath] = []
    for word in words:
        name, defined, rest = word.partition("=")
        text, _, seconds = (rest if defined else name).partition(":")
        if name == "all" and not defined:
            found += _shared(declared, max_seconds)
            continue
        if not defined:
            name = text
            entry = next((one for one in declared if one.name == name), None)
            if entry is None:
                known = ", ".join(one.name for one in declared) or "none"
                raise UsageError(f"--path {word}: task.toml has no path '{name}' (it has {known}); or NAME=SHAPES")
            text = entry.where
        found.append(ShapePath(name=name, where=text, max_seconds=_seconds(word, seconds, max_seconds)))
    names = [path.name for path in found]
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise UsageError(f"--path: there are two paths '{twice}'")
    return found


def _shared(declared: Sequence[PathEntry], max_seconds: float) -> list[ShapePath]:
    from kernelevolve.errors import UsageError

    if not declared:
        raise UsageError("--path all: the task declares no paths; write --path NAME=SHAPES")
    total = sum(entry.weight for entry in declared)
    return [
        ShapePath(name=entry.name, where=entry.where, max_seconds=max_seconds * entry.weight / total)
        for entry in declared
    ]


def _seconds(word: str, text: str, default: float) -> float:
    from kernelevolve.errors import UsageError

    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--path {word}: '{text}' is not a number of seconds above 0")
    return seconds


def drive_family(
    store: Store, paths: Sequence[ShapePath], open_path: Callable[[ShapePath], str], *, folder: Path, as_json: bool
) -> int:
    """One campaign after another. All are opened first, so that an impossible path is refused before anything runs,
    and an interrupted family can be resumed campaign by campaign."""
    from kernelevolve.errors import ProposerError
    from kernelevolve.interfaces.cli.border import OK
    from kernelevolve.interfaces.cli.drive import drive
    from kernelevolve.interfaces.cli.output import emit

    opened = [(path, open_path(path)) for path in paths]
    ends: list[dict[str, Any]] = []
    for path, campaign_id in opened:
        print(f"path {path.name} ({path.where or 'the whole domain'}), {path.max_seconds:g} s", file=sys.stderr)
        reason = ""
        try:
            # A single run answers with an object of its own; the answer of a family is one object at the end.
            with redirect_stdout(io.StringIO()) if as_json else redirect_stdout(sys.stdout):
                code = drive(store, campaign_id, folder=folder, command="run", as_json=as_json)
        except ProposerError as error:  # nothing to be tried for these shapes; the other paths go on
            code, reason = OK, f"not searched: {error}"
        if code != OK:
            left = ", ".join(later for _, later in opened[len(ends) + 1 :])
            print(f"paths not started: {left or 'none'}", file=sys.stderr)
            return code
        ends.append(_end(store, path, campaign_id, folder, reason))
    emit("run", as_json, {"paths": ends}, lambda console: _render(ends, console))
    return OK


def _end(store: Store, path: ShapePath, campaign_id: str, folder: Path, reason: str) -> dict[str, Any]:
    from kernelevolve.interfaces.cli.summary import summary_data, write_results
    from kernelevolve.interfaces.record import load_record
    from kernelevolve.store.place import working_folder

    record = load_record(store, campaign_id)
    data = summary_data(record, write_results(record, working_folder(folder) / campaign_id))
    return {"path": path.name, "where": path.where, **data, "reason": reason or data["reason"]}


def _render(ends: list[dict[str, Any]], console: Console) -> None:
    from rich import box
    from rich.table import Table

    from kernelevolve.interfaces.wording import one_line, times

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="shape paths", title_justify="left", title_style="bold")
    for column in ("path", "shapes", "lower bound", "campaign", "why it ended"):
        table.add_column(column)
    for end in ends:
        low = times(end["low_bound"]) if end["low_bound"] and end["status"] == "improved" else "reference stays"
        table.add_row(end["path"], end["where"] or "all", low, end["campaign"], one_line(end["reason"]))
    console.print(table)
    won = [end["campaign"] for end in ends if end["status"] == "improved"]
    if won:
        console.print(f"together in one package: kernelevolve export {' '.join(won)} DIR", soft_wrap=True)
