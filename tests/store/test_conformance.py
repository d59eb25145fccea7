from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import UnknownNameError
from kernelevolve.store import STORES, open_store
from kernelevolve.store.base import Store
from kernelevolve.store.memory import MemoryStore
from kernelevolve.store.sqlite import SqliteStore
from kernelevolve.testing.store_case import StoreCase


class TestSqliteStore(StoreCase):
    def make_store(self, folder: Path) -> Store:
        return SqliteStore(folder)


class TestMemoryStore(StoreCase):
    shared = False

    def make_store(self, folder: Path) -> Store:
        return MemoryStore(folder)


def test_the_table_makes_every_member(tmp_path: Path) -> None:
    made = {name: type(open_store(tmp_path / name, backend=name)) for name in STORES}
    assert made == {"sqlite": SqliteStore, "memory": MemoryStore}
    with pytest.raises(UnknownNameError, match="memory, sqlite"):
        open_store(tmp_path, backend="redis")
