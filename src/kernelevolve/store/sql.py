"""What SQL stores write, whichever database it is. A member brings the connection and its locks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any, cast

from sqlalchemy import Connection, Row, Table, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from kernelevolve.model.events import Closed, Event, Opened
from kernelevolve.store.codec import to_bodies
from kernelevolve.store.projection import Projection
from kernelevolve.store.rows import node_row, node_values
from kernelevolve.store.rules import (
    RandomBytes,
    campaign_facts,
    check_campaign_id,
    claimed_campaign,
    closed_campaign,
    first_event,
    lost_claim,
    new_campaign_id,
    plain_text,
    repeated_event,
    slot_of,
    unproposed_step,
)
from kernelevolve.store.schema import CampaignTable, EventTable, LeaseTable, NodeTable
from kernelevolve.store.sql_read import SqlReader, chunks

MAX_LISTED = 500
"""Values in one IN list; databases limit the parameters of a statement."""
NODES = cast(Table, NodeTable.__table__)
ADOPTED_AT_ONCE = 2000
"""Events of a campaign from elsewhere that are in memory at a time."""


class SqlStore(SqlReader):
    """Appends to one campaign happen one after another: SQLite has one writer, PostgreSQL locks the campaign's row."""

    def __init__(self, *, random_bytes: RandomBytes = os.urandom, clock: Callable[[], float] | None = None) -> None:
        self._random_bytes = random_bytes
        self._clock = clock

    def open_campaign(self, opened: Opened) -> str:
        bodies, blobs = to_bodies([opened])
        self._blobs.put_all(blobs)
        with self._transaction(write=True) as connection:
            campaign_id = self._start(connection, opened, None)
            self._append(connection, self._campaign(connection, campaign_id, lock=True), [opened], bodies)
        return campaign_id

    def adopt(self, campaign_id: str, events: Iterable[Event]) -> str:
        check_campaign_id(campaign_id)
        rest = iter(events)
        opened = first_event(next(rest, None))
        rest = chain([opened], rest)
        with self._transaction(write=True) as connection:
            campaign_id = self._start(connection, opened, campaign_id)
            while some := list(islice(rest, ADOPTED_AT_ONCE)):
                bodies, blobs = to_bodies(some)
                self._blobs.put_all(blobs)
                self._append_or_say_why(connection, campaign_id, some, bodies)
        return campaign_id

    def append(self, campaign_id: str, events: Sequence[Event], *, token: int | None = None) -> None:
        # Blobs first: they must be on the disk before a row refers to them, and writing them needs no lock.
        bodies, blobs = to_bodies(events)
        self._blobs.put_all(blobs)
        with self._transaction(write=True) as connection:
            self._append_or_say_why(connection, campaign_id, events, bodies, token)

    def claim(self, campaign_id: str, owner: str, *, lease_s: float = 60.0) -> int:
        with self._transaction(write=True) as connection:
            number = self._campaign(connection, campaign_id, lock=True).number
            held, now = self._lease(connection, number), self._now_s(connection)
            if held is not None and held.owner != owner and held.expires_s > now:
                raise claimed_campaign(campaign_id, held.owner, held.expires_s - now)
            renewed = held is not None and held.owner == owner and held.expires_s > now
            token = (held.token if held else 0) + (0 if renewed else 1)
            values = {"owner": owner, "token": token, "expires_s": now + lease_s}
            if held is None:
                connection.execute(insert(LeaseTable).values(campaign=number, **values))
            else:
                connection.execute(update(LeaseTable).where(LeaseTable.campaign == number).values(values))
        return token

    def release(self, campaign_id: str, token: int) -> None:
        with self._transaction(write=True) as connection:
            number = self._campaign(connection, campaign_id, lock=True).number
            mine = (LeaseTable.campaign == number, LeaseTable.token == token)
            connection.execute(update(LeaseTable).where(*mine).values(expires_s=0.0))

    def _now_s(self, connection: Connection) -> float:
        """By one clock for all who share the store."""
        raise NotImplementedError

    def _start(self, connection: Connection, opened: Opened, wanted: str | None) -> str:
        def taken(name: str) -> bool:
            return connection.scalar(select(CampaignTable.number).where(CampaignTable.id == name)) is not None

        if wanted is None or taken(wanted):
            wanted = new_campaign_id(opened, self._random_bytes, taken, name=(wanted or "")[:100])
        row = {
            "id": wanted, "task_name": plain_text(opened.task.name), "created": plain_text(opened.time),
            "secret": self._random_bytes(32).hex(), "n_events": 0, "closed": False, **campaign_facts(opened),
        }  # fmt: skip
        connection.execute(insert(CampaignTable).values(row))
        return wanted

    def _append_or_say_why(
        self,
        connection: Connection,
        campaign_id: str,
        events: Sequence[Event],
        bodies: Sequence[str],
        token: int | None = None,
    ) -> None:
        campaign = self._campaign(connection, campaign_id, lock=True)
        if token is not None:
            held = self._lease(connection, campaign.number)
            if held is None or held.token != token:
                raise lost_claim(campaign_id, token, held.owner if held else "")
        attempt = connection.begin_nested()  # so that the transaction can still answer what was there already
        try:
            self._append(connection, campaign, events, bodies)
        except IntegrityError as error:
            attempt.rollback()
            raise repeated_event(campaign_id, self._repeated(connection, campaign, events)) from error
        attempt.commit()

    def _append(
        self, connection: Connection, campaign: Row[Any], events: Sequence[Event], bodies: Sequence[str]
    ) -> None:
        """Raises IntegrityError for a second event of one kind in one slot."""
        closed, rows, nodes = campaign.closed, [], Projection()
        for seq, (each, body) in enumerate(zip(events, bodies, strict=True), start=campaign.n_events):
            if closed:
                raise closed_campaign(campaign.id)
            closed = isinstance(each, Closed)
            nodes.add(each, seq)
            rows.append(
                {"campaign": campaign.number, "seq": seq, "kind": each.kind, "slot": slot_of(each), "body": body}
            )
        if not rows:
            return
        connection.execute(insert(EventTable), rows)
        self._project(connection, campaign, nodes)
        last = events[-1]
        counted = {
            "n_events": campaign.n_events + len(events), "closed": closed,
            "winner": last.winner if isinstance(last, Closed) else None,
        }  # fmt: skip
        connection.execute(update(CampaignTable).where(CampaignTable.number == campaign.number).values(counted))

    @staticmethod
    def _project(connection: Connection, campaign: Row[Any], nodes: Projection) -> None:
        of_campaign = select(NodeTable.__table__).where(NodeTable.campaign == campaign.number)
        found = {
            row.step: node_row(row)
            for steps in chunks(list(nodes.needed), MAX_LISTED)
            for row in connection.execute(of_campaign.where(NodeTable.step.in_(steps)))
        }
        for step, event in nodes.needed.items():
            if step not in found:
                raise unproposed_step(campaign.id, event, step)
        if nodes.born:
            born = [{"campaign": campaign.number, **node_values(row)} for row in nodes.born.values()]
            connection.execute(insert(NodeTable), born)
        if judged := nodes.judged_rows(found):
            here = (NodeTable.campaign == campaign.number, NodeTable.step == bindparam("at_step"))
            changed = [{"at_step": row.step, **node_values(row)} for row in judged]
            connection.execute(update(NODES).where(*here), changed)

    @staticmethod
    def _repeated(connection: Connection, campaign: Row[Any], events: Sequence[Event]) -> Event:
        """The first of `events` whose place was taken, in the store or by one before it."""
        seen: set[tuple[str, int]] = set()
        for event in events:
            place = (event.kind, slot_of(event))
            here = (EventTable.campaign == campaign.number, EventTable.kind == place[0], EventTable.slot == place[1])
            if place in seen or connection.scalar(select(EventTable.seq).where(*here)) is not None:
                return event
            seen.add(place)
        return events[0]

    @staticmethod
    def _lease(connection: Connection, number: int) -> Row[Any] | None:
        return connection.execute(select(LeaseTable.__table__).where(LeaseTable.campaign == number)).one_or_none()
