"""What `--store` may name: a folder, or the address of a PostgreSQL database."""

from __future__ import annotations

import re
from pathlib import Path

SCHEME = re.compile(r"^(postgresql|postgres)(\+psycopg)?:/+")
LOCAL_FOLDER = Path("kernelevolve-runs")
"""Where reports and exports go that belong to no folder of a store."""


def store_url(place: Path | str) -> str | None:
    """The address in `place`, None for a folder. A `Path` made from an address has lost slashes: they are put back.
    Raises nothing: what is wrong with an address is found when it is opened."""
    text = str(place)
    found = SCHEME.match(text)
    if found is None:
        return None
    if isinstance(place, str):
        return f"postgresql:{text.partition(':')[2]}"
    rest = text[found.end() :]
    host_and_database = "/" in rest.partition("?")[0]
    return f"postgresql://{rest}" if host_and_database else f"postgresql:///{rest}"


def working_folder(place: Path | str) -> Path:
    """The folder for what is written beside a store: the store's own, or a local one."""
    return LOCAL_FOLDER if store_url(place) else Path(place)
