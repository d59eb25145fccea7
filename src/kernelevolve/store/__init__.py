"""Where events live. Adding one: a file with a `Store`, a line in `STORES`, a subclass of `testing.StoreCase`.

SQL is written in this folder only. A store appends and reads; it selects nothing, scores nothing and displays nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.store.base import Store

STORES = {
    "sqlite": "kernelevolve.store.sqlite:SqliteStore",
    "memory": "kernelevolve.store.memory:MemoryStore",
}


def open_store(folder: Path, *, backend: str = "sqlite") -> Store:
    """Open the store in `folder`, made when missing. Raises UsageError, RecordError (a newer schema), MachineError."""
    if backend not in STORES:
        raise UnknownNameError("store", backend, tuple(STORES))
    module, _, attribute = STORES[backend].partition(":")
    return cast(Store, getattr(import_module(module), attribute)(folder))
