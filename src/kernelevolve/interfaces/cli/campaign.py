"""`kernelevolve campaign ...`: what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.store.base import CampaignRow

app = typer.Typer(help="Campaigns in a store: list, show.", no_args_is_help=True)


@app.command("list")
def list_campaigns(store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> int:
    """All campaigns, oldest first."""
    from dataclasses import asdict

    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import existing_store

    rows = existing_store(store).campaigns()
    emit("campaign.list", as_json, {"campaigns": [asdict(row) for row in rows]}, lambda console: _render(rows, console))
    return 0


@app.command("show")
def show_campaign(
    campaign: CampaignArgument = "latest", store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False
) -> int:
    """The summary of one campaign, finished or not."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import read_record
    from kernelevolve.interfaces.cli.summary import Results, render_summary, summary_data
    from kernelevolve.store.place import working_folder

    record = read_record(store, campaign)
    folder = working_folder(store) / record.campaign_id
    best = next((path for path in sorted(folder.glob("best*")) if record.winner), None)
    files = Results(best=best, report=folder / "report.html")
    emit("campaign.show", as_json, summary_data(record, files), lambda console: render_summary(record, files, console))
    return 0


def _render(rows: list[CampaignRow], console: Console) -> None:
    from rich import box
    from rich.table import Table

    from kernelevolve.interfaces.wording import one_line

    if not rows:
        console.print("no campaigns yet")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("campaign", "task", "started", "state"):
        table.add_column(column, no_wrap=True)
    table.add_column("events", justify="right")
    for row in rows:
        state = "finished" if row.closed else "unfinished"
        table.add_row(row.id, one_line(row.task_name), one_line(row.created), state, str(row.n_events))
    console.print(table)
