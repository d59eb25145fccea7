"""`kernelevolve archive` and `unarchive`: a campaign as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption


def archive(
    campaign: CampaignArgument,
    file: Annotated[Path, typer.Argument(help="The file to write, such as softmax.kev.", metavar="FILE")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Write a campaign with all its candidates and verdicts as one file. Its secret is not in it."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import existing_store
    from kernelevolve.store.archive import write_archive

    opened = existing_store(store)
    done = write_archive(opened, opened.resolve(campaign), file)
    data = {
        "campaign": done.campaign_id, "file": str(file), "n_events": done.n_events, "n_blobs": done.n_blobs,
        "n_bytes": done.n_bytes,
    }  # fmt: skip
    text = f"{file}: campaign {done.campaign_id}, {done.n_events} events, {done.n_bytes:,} bytes"
    emit("archive", as_json, data, lambda console: console.print(text, soft_wrap=True))
    return 0


def unarchive(
    file: Annotated[Path, typer.Argument(help="What `archive` wrote.", metavar="FILE")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Take a campaign from a file into the store. It keeps its id unless that is taken.

    What it says is what its sender says: judge a kernel again before you rely on it."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.store import open_store
    from kernelevolve.store.archive import read_archive

    found = read_archive(open_store(store), file)
    data = {"campaign": found.campaign_id, "was": found.was, "n_events": found.n_events}
    renamed = f" (was {found.was})" if found.was != found.campaign_id else ""
    text = f"campaign {found.campaign_id}{renamed}: {found.n_events} events"
    emit("unarchive", as_json, data, lambda console: console.print(text, soft_wrap=True))
    return 0
