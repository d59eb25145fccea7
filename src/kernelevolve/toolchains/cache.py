"""Where built files are kept between runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def default_cache() -> Path:
    """`$KERNELEVOLVE_CACHE`, else the user's cache folder; absolute, since files in it are named to processes that work
    elsewhere."""
    chosen = os.environ.get("KERNELEVOLVE_CACHE")
    if chosen:
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelevolve"


def replace_file(path: Path, data: bytes) -> None:
    """Write beside, then rename: a reader sees the old file or the new one, never half."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as handle:
        handle.write(data)
    Path(handle.name).replace(path)
