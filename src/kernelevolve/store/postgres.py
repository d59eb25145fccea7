"""A store in PostgreSQL, for campaigns on many hosts: the same tables, with the blobs among them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import Connection, Engine, create_engine, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from kernelevolve.errors import MachineError, RecordError, ToolMissingError, UsageError
from kernelevolve.store.rules import RandomBytes
from kernelevolve.store.schema import HEAD, BlobTable
from kernelevolve.store.sql import MAX_LISTED, SqlStore
from kernelevolve.store.sql_read import chunks
from kernelevolve.store.upgrade import refuse_newer, schema_version, upgrade

DRIVER = "postgresql+psycopg"
CONNECT_TIMEOUT_S = 20
MIGRATION_LOCK = 0x6B65726E  # of pg_advisory_xact_lock: one process migrates, the others wait and find it done
MAX_KNOWN = 100_000
"""Names of blobs remembered, so that a source proposed again is not sent again."""


class PostgresStore(SqlStore):
    """`url` is postgresql://user:password@host/database. It needs a database or a schema of its own, in which the role
    may create tables. The server's clock is everybody's unless `clock` (seconds) is given."""

    def __init__(
        self, url: str, *, random_bytes: RandomBytes = os.urandom, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(random_bytes=random_bytes, clock=clock)
        self._engine = _engine(url)
        self._where = self._engine.url.render_as_string(hide_password=True)
        self._blobs = BlobsInTable(self._transaction)
        self._prepare()

    def _now_s(self, connection: Connection) -> float:
        if self._clock is not None:
            return self._clock()
        return float(connection.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0.0)

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise MachineError(f"{self._where}: {_said(error)}") from error
        except DatabaseError as error:
            raise RecordError(f"{self._where}: {_said(error)}") from error

    def _prepare(self) -> None:
        with self._transaction() as connection:
            version = schema_version(connection)
        refuse_newer(version, self._where)
        if version == HEAD:
            return
        with self._transaction(write=True) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
            version = schema_version(connection)  # another process may have been faster
            refuse_newer(version, self._where)
            if version != HEAD:
                upgrade(connection, lambda name: _blob(connection, name))


class BlobsInTable:
    """A transaction of its own for each call, so that blobs are safe before an event refers to them."""

    def __init__(self, transaction: Callable[..., AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction
        self._known: set[str] = set()

    def put(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        self.put_all({name: data})
        return name

    def put_all(self, blobs: Mapping[str, bytes]) -> None:
        fresh = sorted(name for name in blobs if name not in self._known)  # in one order, or two writers could deadlock
        if not fresh:
            return
        with self._transaction(write=True) as connection:
            for names in chunks(fresh, MAX_LISTED):
                there = set(connection.scalars(select(BlobTable.name).where(BlobTable.name.in_(names))))
                rows = [{"name": name, "data": blobs[name]} for name in names if name not in there]
                if rows:
                    connection.execute(insert(BlobTable).on_conflict_do_nothing(), rows)
        if len(self._known) + len(fresh) > MAX_KNOWN:
            self._known.clear()
        self._known.update(fresh)

    def get(self, name: str) -> bytes:
        with self._transaction() as connection:
            data = _blob(connection, name)
        if data is None:
            raise UsageError(f"no blob {name} in the store")
        if hashlib.sha256(data).hexdigest() != name:
            raise RecordError(f"blob {name} does not hold what its name says: it was damaged or edited")
        return data


def _blob(connection: Connection, name: str) -> bytes | None:
    data = connection.scalar(select(BlobTable.data).where(BlobTable.name == name))
    return None if data is None else bytes(data)


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url).set(drivername=DRIVER)
        return create_engine(parsed, pool_pre_ping=True, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    except ImportError as error:
        raise ToolMissingError("a PostgreSQL store needs psycopg. Fix: pip install 'kernelevolve[postgres]'") from error
    except (ArgumentError, ValueError) as error:
        raise UsageError("not the address of a PostgreSQL store: postgresql://user:password@host/database") from error


def _said(error: DatabaseError) -> str:
    """One line. What the driver says has no password in it, but may span lines."""
    return " ".join(str(error.orig).split())
