"""Where built files are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def default_cache() -> Path:
    """`$KERNELEVOLVE_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("KERNELEVOLVE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelevolve"
