from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import UnknownNameError
from kernelevolve.store import STORES, open_store
from kernelevolve.store.base import Store
from kernelevolve.store.memory import MemoryStore
from kernelevolve.store.sqlite import SqliteStore
from kernelevolve.testing.store_case import Clock, StoreCase


class TestSqliteStore(StoreCase):
    def make_store(self, folder: Path, clock: Clock | None = None) -> Store:
        return SqliteStore(folder, clock=clock) if clock else SqliteStore(folder)


class TestMemoryStore(StoreCase):
    shared = False

    def make_store(self, folder: Path, clock: Clock | None = None) -> Store:
        return MemoryStore(folder, clock=clock) if clock else MemoryStore(folder)


def test_the_table_makes_every_member(tmp_path: Path) -> None:
    made = {name: type(open_store(tmp_path / name, backend=name)) for name in ("sqlite", "memory")}
    assert made == {"sqlite": SqliteStore, "memory": MemoryStore}
    assert set(STORES) == {*made, "postgresql"}
    assert isinstance(open_store(tmp_path / "plain"), SqliteStore)
    with pytest.raises(UnknownNameError, match="memory, postgresql, sqlite"):
        open_store(tmp_path, backend="redis")
