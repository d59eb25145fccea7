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
            help="The folder to write, after a campaign's id ('latest' when left out).", metavar="[CAMPAIGN] DIR"
        ),
    ],
    step: Annotated[
        int | None, typer.Option("--step", help="Export this correct candidate instead of the winner.", metavar="STEP")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Write the winner as a folder that needs PyTorch and a compiler, but not kernelevolve."""
    from kernelevolve.errors import UsageError
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import read_record
    from kernelevolve.interfaces.export.write import export_kernel

    if len(words) > 2:
        raise UsageError("export takes a campaign and a folder: kernelevolve export [CAMPAIGN] DIR")
    folder = Path(words[-1])
    record = read_record(store, words[0] if len(words) == 2 else "latest")
    try:
        written = export_kernel(record, folder, step=step)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from error
    entry = record.opened.task.entry
    data = {
        "campaign": record.campaign_id, "folder": str(folder), "module": entry,
        "files": [path.relative_to(folder).as_posix() for path in written],
    }  # fmt: skip
    text = f"{folder}: {len(written)} files\ncheck it here: python {folder / f'test_{entry}.py'}"
    emit("export", as_json, data, lambda console: console.print(text, soft_wrap=True))
    return 0
