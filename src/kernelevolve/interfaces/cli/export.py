"""`kernelevolve export`: a winner as a folder that works on its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, JsonOption, StoreOption


def export(
    words: Annotated[
        list[str],
        typer.Argument(
            help="The folder to write, after the ids of campaigns ('latest' when left out). Several campaigns of one "
            "operator, as --path makes them, become one package.",
            metavar="[CAMPAIGN...] DIR",
        ),
    ],
    step: Annotated[
        int | None, typer.Option("--step", help="Export this correct candidate instead of the winner.", metavar="STEP")
    ] = None,
    only_measured: Annotated[
        bool, typer.Option("--only-measured", help="Kernels serve exactly the shapes they were measured on.")
    ] = False,
    fallback: Annotated[
        str,
        typer.Option(
            "--fallback",
            help="What serves the other calls instead of the reference: MODULE:FUNCTION, or a baseline of the task.",
            metavar="NAME",
        ),
    ] = "",
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Write winners as a folder that needs PyTorch (and a C++ compiler on a CPU), but not kernelevolve."""
    from kernelevolve.errors import UsageError
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import read_record
    from kernelevolve.interfaces.export.write import export_package

    *campaigns, last = words
    folder = Path(last)
    if step is not None and len(campaigns) > 1:
        raise UsageError("--step chooses a candidate of one campaign; export one campaign with it")
    records = [read_record(store, campaign) for campaign in campaigns or ["latest"]]
    try:
        written = export_package(records, folder, step=step, only_measured=only_measured, fallback=fallback)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from error
    entry = records[0].opened.task.entry
    data = {
        "campaign": records[0].campaign_id, "campaigns": [record.campaign_id for record in records],
        "folder": str(folder), "module": entry, "files": [path.relative_to(folder).as_posix() for path in written],
    }  # fmt: skip
    text = f"{folder}: {len(written)} files\ncheck it here: python {folder / f'test_{entry}.py'}"
    emit("export", as_json, data, lambda console: console.print(text, soft_wrap=True))
    return 0
