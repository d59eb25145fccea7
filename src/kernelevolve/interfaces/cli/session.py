"""Opening stores and campaigns for the commands."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.record import Record, load_record
from kernelevolve.store import open_store
from kernelevolve.store.base import Store
from kernelevolve.store.place import store_url


def existing_store(folder: Path) -> Store:
    """For commands that only read: a missing store is not made. Raises UsageError."""
    if store_url(folder) is None and not folder.is_dir():
        raise UsageError(
            f"there is no store at {folder}; choose one with --store, or start with: kernelevolve run TASK"
        )
    return open_store(folder)


def read_record(folder: Path, campaign: str) -> Record:
    """Raises UsageError when the store or the campaign does not exist."""
    return load_record(existing_store(folder), campaign)


def usable_cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
