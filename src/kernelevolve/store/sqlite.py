"""The default store: one SQLite file and a folder of blobs, shared by any number of processes of one machine."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from kernelevolve.errors import MachineError, RecordError, UsageError
from kernelevolve.store.blobs import BlobFolder
from kernelevolve.store.filesystem import refuse_network_folder
from kernelevolve.store.rules import RandomBytes
from kernelevolve.store.schema import HEAD
from kernelevolve.store.sql import SqlStore
from kernelevolve.store.upgrade import refuse_newer, schema_version, upgrade

FILE_NAME = "kernelevolve.db"
BUSY_TIMEOUT_S = 60


class SqliteStore(SqlStore):
    """`folder` is made when missing. The database file is readable by its owner only: it holds the secrets."""

    def __init__(
        self, folder: Path, *, random_bytes: RandomBytes = os.urandom, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(random_bytes=random_bytes, clock=clock)
        self._path = folder / FILE_NAME
        self._blobs = BlobFolder(folder / "blobs")
        self._engine = create_engine(f"sqlite:///{self._path}", connect_args={"timeout": BUSY_TIMEOUT_S})
        event.listen(self._engine, "connect", _prepare_connection)
        event.listen(self._engine, "begin", _begin)
        self._prepare_file(folder)

    def _now_s(self, connection: Connection) -> float:
        return self._clock() if self._clock else time.time()

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[Connection]:
        try:
            with self._engine.connect().execution_options(write=write) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise MachineError(f"{self._path}: {error.orig}") from error
        except DatabaseError as error:
            raise RecordError(f"{self._path}: {error.orig}") from error

    def _prepare_file(self, folder: Path) -> None:
        """One process at a time: switching a fresh file to WAL does not wait for a lock, it fails."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            refuse_network_folder(folder)
            lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise MachineError(f"cannot use {folder} as a store: {error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with self._transaction() as connection:
                version = schema_version(connection)
            refuse_newer(version, str(self._path))
            if version != HEAD:
                if version is not None:
                    self._back_up(version)
                self._migrate()
        finally:
            os.close(lock)

    def _back_up(self, version: str) -> None:
        """A copy beside the file, as it was, before anything is changed. Blobs are never changed, so they need none.
        An earlier copy of that version is kept: it may be of a migration that failed half-way for another reason."""
        path = self._path.with_name(f"{FILE_NAME}.before-{HEAD}-was-{version}")
        if path.exists():
            return
        partial = path.with_name(f"{path.name}.partial")
        try:
            partial.unlink(missing_ok=True)
            os.close(os.open(partial, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(self._path)) as source, closing(sqlite3.connect(partial)) as target:
                source.backup(target)
            partial.replace(path)
        except (OSError, sqlite3.Error) as error:
            raise MachineError(f"cannot copy {self._path} before migrating, so nothing was done: {error}") from error

    def _migrate(self) -> None:
        try:
            with self._engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("PRAGMA journal_mode = WAL")  # kept in the file; refused inside a transaction
        except OperationalError as error:
            raise MachineError(f"{self._path}: {error.orig}") from error
        with self._transaction(write=True) as connection:
            upgrade(connection, self._blob_if_there)

    def _blob_if_there(self, name: str) -> bytes | None:
        try:
            return self._blobs.get(name)
        except (UsageError, RecordError):
            return None


def _prepare_connection(connection: Any, _record: ConnectionPoolEntry) -> None:
    # Python's sqlite3 would begin transactions by itself, and late; `_begin` does it instead.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")
    # FULL: a verdict costs seconds to minutes of machine time and its record one sync (a millisecond), and the one
    # use of the sealed shapes must not be forgotten in a power failure.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # In KiB, taken when needed: of a million nodes the tops of the indices should stay in memory.
    connection.execute("PRAGMA cache_size = -65536")


def _begin(connection: Connection) -> None:
    # IMMEDIATE: a writer waits for its turn here. A reader that turns writer later would fail without waiting.
    connection.execute(text("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN"))
