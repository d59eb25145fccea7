"""The default store: one SQLite file and a folder of blobs, shared by any number of processes of one machine."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, create_engine, event, insert, select, text, update
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.events import Closed, Event, Judged, Opened, Proposed
from kernelevolve.model.verdict import Outcome
from kernelevolve.store.base import CampaignRow, NodeRow
from kernelevolve.store.blobs import BlobFolder
from kernelevolve.store.codec import from_body, to_body
from kernelevolve.store.filesystem import refuse_network_folder
from kernelevolve.store.rules import (
    RandomBytes,
    closed_campaign,
    new_campaign_id,
    node_judged,
    node_of,
    pick_campaign,
    repeated_event,
    slot_of,
    step_needed,
    unknown_campaign,
    unproposed_step,
)
from kernelevolve.store.schema import HEAD, CampaignTable, EventTable, NodeTable
from kernelevolve.store.upgrade import refuse_newer, schema_version, upgrade

FILE_NAME = "kernelevolve.db"
BUSY_TIMEOUT_S = 60


class SqliteStore:
    """`folder` is made when missing. The database file is readable by its owner only: it holds the secrets."""

    def __init__(self, folder: Path, *, random_bytes: RandomBytes = os.urandom) -> None:
        self._random_bytes = random_bytes
        self._path = folder / FILE_NAME
        self._blobs = BlobFolder(folder / "blobs")
        self._engine = create_engine(f"sqlite:///{self._path}", connect_args={"timeout": BUSY_TIMEOUT_S})
        event.listen(self._engine, "connect", _prepare_connection)
        event.listen(self._engine, "begin", _begin)
        self._prepare_file(folder)

    def open_campaign(self, opened: Opened) -> str:
        with self._transaction(write=True) as connection:

            def taken(name: str) -> bool:
                return connection.scalar(select(CampaignTable.number).where(CampaignTable.id == name)) is not None

            campaign_id = new_campaign_id(opened, self._random_bytes, taken)
            row = {
                "id": campaign_id,
                "task_name": opened.task.name,
                "created": opened.time,
                "secret": self._random_bytes(32).hex(),
                "n_events": 0,
                "closed": False,
            }
            connection.execute(insert(CampaignTable).values(row))
            self._append(connection, campaign_id, [opened], [to_body(opened, self._blobs.put)])
        return campaign_id

    def append(self, campaign_id: str, events: Sequence[Event]) -> None:
        # Blobs first: they must be on the disk before a row refers to them, and writing them needs no lock.
        bodies = [to_body(event, self._blobs.put) for event in events]
        with self._transaction(write=True) as connection:
            self._append(connection, campaign_id, events, bodies)

    def read(self, campaign_id: str, start: int = 0) -> list[Event]:
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            found = select(EventTable.body).where(EventTable.campaign == number, EventTable.seq >= start)
            bodies = connection.scalars(found.order_by(EventTable.seq)).all()
        return [from_body(body, self._blobs.get) for body in bodies]

    def nodes(
        self, campaign_id: str, *, best_first: bool = False, start: int = 0, limit: int | None = None
    ) -> list[NodeRow]:
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            wanted = select(NodeTable).where(NodeTable.campaign == number)
            if best_first:
                wanted = wanted.where(NodeTable.low.is_not(None), NodeTable.same_as.is_(None))
                wanted = wanted.order_by(NodeTable.low.desc(), NodeTable.step)
            else:
                wanted = wanted.order_by(NodeTable.step)
            rows = connection.execute(wanted.offset(start).limit(limit)).all()
        return [_node_row(row) for row in rows]

    def campaigns(self) -> list[CampaignRow]:
        table = CampaignTable
        wanted = select(table.id, table.task_name, table.created, table.n_events, table.closed).order_by(table.number)
        with self._transaction() as connection:
            return [CampaignRow(**row._mapping) for row in connection.execute(wanted)]

    def resolve(self, prefix: str) -> str:
        return pick_campaign(prefix, self.campaigns())

    def secret(self, campaign_id: str) -> str:
        with self._transaction() as connection:
            return str(self._campaign(connection, campaign_id).secret)

    def put_blob(self, data: bytes) -> str:
        return self._blobs.put(data)

    def get_blob(self, sha256: str) -> bytes:
        return self._blobs.get(sha256)

    def _append(self, connection: Connection, campaign_id: str, events: Sequence[Event], bodies: Sequence[str]) -> None:
        campaign = self._campaign(connection, campaign_id)
        closed = campaign.closed
        for seq, (each, body) in enumerate(zip(events, bodies, strict=True), start=campaign.n_events):
            if closed:
                raise closed_campaign(campaign_id)
            row = {"campaign": campaign.number, "seq": seq, "kind": each.kind, "slot": slot_of(each), "body": body}
            try:
                connection.execute(insert(EventTable).values(row))
            except IntegrityError as error:
                raise repeated_event(campaign_id, each) from error
            self._project(connection, campaign, each)
            closed = isinstance(each, Closed)
        counted = {"n_events": campaign.n_events + len(events), "closed": closed}
        connection.execute(update(CampaignTable).where(CampaignTable.number == campaign.number).values(counted))

    def _project(self, connection: Connection, campaign: Row[Any], event: Event) -> None:
        step = step_needed(event)
        here = (NodeTable.campaign == campaign.number, NodeTable.step == step)
        if isinstance(event, Proposed):
            values = _node_values(node_of(event))
            connection.execute(insert(NodeTable).values(campaign=campaign.number, **values))
        elif step is not None:
            row = connection.execute(select(NodeTable).where(*here)).one_or_none()
            if row is None:
                raise unproposed_step(campaign.id, event, step)
            if isinstance(event, Judged):
                values = _node_values(node_judged(_node_row(row), event))
                connection.execute(update(NodeTable).where(*here).values(values))

    @staticmethod
    def _campaign(connection: Connection, campaign_id: str) -> Row[Any]:
        row = connection.execute(select(CampaignTable).where(CampaignTable.id == campaign_id)).one_or_none()
        if row is None:
            raise unknown_campaign(campaign_id)
        return row

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
            refuse_newer(version, self._path)
            if version != HEAD:
                self._migrate()
        finally:
            os.close(lock)

    def _migrate(self) -> None:
        try:
            with self._engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("PRAGMA journal_mode = WAL")  # kept in the file; refused inside a transaction
        except OperationalError as error:
            raise MachineError(f"{self._path}: {error.orig}") from error
        with self._transaction(write=True) as connection:
            upgrade(connection)


def _prepare_connection(connection: Any, _record: ConnectionPoolEntry) -> None:
    # Python's sqlite3 would begin transactions by itself, and late; `_begin` does it instead.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")
    # FULL: a verdict costs seconds to minutes of machine time and its record one sync (a millisecond), and the one
    # use of the sealed shapes must not be forgotten in a power failure.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    # IMMEDIATE: a writer waits for its turn here. A reader that turns writer later would fail without waiting.
    connection.execute(text("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN"))


def _node_values(row: NodeRow) -> dict[str, Any]:
    return {
        "step": row.step,
        "candidate_id": row.candidate_id,
        "operator": row.operator,
        "parents": json.dumps(row.parents),
        "outcome": row.outcome.value if row.outcome else None,
        "same_as": row.same_as,
        "speedup": row.speedup,
        "low": row.low,
        "high": row.high,
    }


def _node_row(row: Row[Any]) -> NodeRow:
    return NodeRow(
        step=row.step,
        candidate_id=row.candidate_id,
        operator=row.operator,
        parents=tuple(json.loads(row.parents)),
        outcome=Outcome(row.outcome) if row.outcome else None,
        same_as=row.same_as,
        speedup=row.speedup,
        low=row.low,
        high=row.high,
    )
