"""Where events live. Adding one: a file with a `Store`, a line in `STORES`, a subclass of `testing.StoreCase`.

SQL is written in this folder only. A store appends and reads; it selects nothing, scores nothing and displays nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.store.base import Store
from kernelevolve.store.place import store_url

STORES = {
    "sqlite": "kernelevolve.store.sqlite:SqliteStore",
    "memory": "kernelevolve.store.memory:MemoryStore",
    "postgresql": "kernelevolve.store.postgres:PostgresStore",
}


def open_store(place: Path | str, *, backend: str = "") -> Store:
    """Open the store at `place`, made when missing: a folder, or postgresql://... for one that many hosts share.
    `backend` is a name of STORES; empty: what `place` looks like. Raises UsageError, RecordError (a newer schema),
    MachineError."""
    url = store_url(place)
    backend = backend or ("postgresql" if url else "sqlite")
    if backend not in STORES:
        raise UnknownNameError("store", backend, tuple(STORES))
    module, _, attribute = STORES[backend].partition(":")
    make = getattr(import_module(module), attribute)
    return cast(Store, make(url or str(place)) if backend == "postgresql" else make(Path(place)))
