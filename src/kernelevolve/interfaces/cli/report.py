"""`kernelevolve report`: a campaign as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption


def report(
    campaign: CampaignArgument = "latest",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write it. Default: report.html in the campaign's folder.", metavar="FILE"
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Write a self-contained HTML report: claim, curve, tree, speed-ups, source, failures, machine."""
    from kernelevolve.errors import UsageError
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import read_record
    from kernelevolve.interfaces.report.build import build_report
    from kernelevolve.store.place import working_folder

    record = read_record(store, campaign)
    path = output or working_folder(store) / record.campaign_id / "report.html"
    page = build_report(record).encode("utf-8", errors="replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(page)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    data = {"campaign": record.campaign_id, "file": str(path), "n_bytes": len(page)}
    emit("report", as_json, data, lambda console: console.print(str(path), soft_wrap=True))
    return 0
