"""`kernelevolve diff`: what one candidate changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"add": "green", "cut": "red", "hunk": "cyan", "file": "bold", "same": ""}


def diff(
    campaign: CampaignArgument,
    step: Annotated[int, typer.Argument(help="The candidate to look at.", metavar="STEP")],
    other: Annotated[
        int | None, typer.Argument(help="Compare STEP with this one instead of with its parent.", metavar="STEP2")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """The difference between a candidate and its parent, or from STEP to STEP2. A draft is shown whole."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import read_record
    from kernelevolve.interfaces.report.source import unified_diff

    record = read_record(store, campaign)
    before, after = (record.row(step), record.row(other)) if other is not None else (None, record.row(step))
    if before is None and after.parent is not None:
        before = record.row(after.parent)
    lines = unified_diff(
        before.candidate if before else None, after.candidate,
        before_name=f"step {before.step}" if before else "nothing", after_name=f"step {after.step}",
    )  # fmt: skip
    data = {"campaign": record.campaign_id, "from": before.step if before else None, "to": after.step, "diff": lines}
    emit("diff", as_json, data, lambda console: _render(lines, console))
    return 0


def _render(lines: list[str], console: Console) -> None:
    from rich.text import Text

    from kernelevolve.interfaces.report.source import line_kind

    for line in lines:
        console.print(Text(line, style=STYLES[line_kind(line)]), soft_wrap=True)
    if not lines:
        console.print("no difference")
