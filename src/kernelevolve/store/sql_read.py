"""What SQL stores answer, whichever database it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlalchemy import Connection, Row, Select, func, select, union_all
from sqlalchemy.orm import aliased

from kernelevolve.model.events import Event
from kernelevolve.store.base import CampaignRow, Change, Children, NodeRow
from kernelevolve.store.codec import from_body
from kernelevolve.store.rows import campaign_row, node_row
from kernelevolve.store.rules import as_of_row, pick_campaign, unknown_campaign, unknown_step
from kernelevolve.store.schema import CampaignTable, EventTable, NodeTable

STEP_KINDS = ("proposed", "judged", "diagnosed", "confirmed", "sealed")
"""Of these only "sealed" is ever in slot 0: once per campaign, so its row does not say of which step."""
MAX_UNION = 100
"""Selects in one UNION; SQLite takes 500."""


class Blobs(Protocol):
    """Bytes by the sha256 of their content. Nothing is ever deleted."""

    def put(self, data: bytes) -> str: ...

    def put_all(self, blobs: Mapping[str, bytes]) -> None:
        """All of them, already named. They are safe when this returns."""
        ...

    def get(self, name: str) -> bytes: ...


class SqlReader(ABC):
    """One or two statements an answer, each through an index, however long the campaign."""

    _blobs: Blobs

    @abstractmethod
    def _transaction(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        """Commits at its end, or rolls everything back. Raises MachineError and RecordError."""

    def read(self, campaign_id: str, start: int = 0, stop: int | None = None) -> list[Event]:
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            wanted = select(EventTable.body).where(EventTable.campaign == number, EventTable.seq >= start)
            if stop is not None:
                wanted = wanted.where(EventTable.seq < stop)
            bodies = connection.scalars(wanted.order_by(EventTable.seq)).all()
        return [from_body(body, self._blobs.get) for body in bodies]

    def events_of(self, campaign_id: str, step: int) -> list[Event]:
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            table = EventTable
            wanted = select(table.seq, table.body).where(
                table.campaign == number, table.kind.in_(STEP_KINDS), table.slot.in_((0, step))
            )
            rows = sorted(connection.execute(wanted).all(), key=lambda row: int(row.seq))
        events = [from_body(row.body, self._blobs.get) for row in rows]
        return [event for event in events if getattr(event, "step", None) == step]

    def changes(self, campaign_id: str, start: int = 0, *, limit: int | None = None) -> list[Change]:
        table = EventTable
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            wanted = select(table.seq, table.kind, table.slot).where(table.campaign == number, table.seq >= start)
            rows = connection.execute(wanted.order_by(table.seq).limit(limit)).all()
        return [Change(seq=row.seq, kind=row.kind, slot=row.slot) for row in rows]

    def nodes(
        self,
        campaign_id: str,
        *,
        best_first: bool = False,
        start: int = 0,
        limit: int | None = None,
        as_of: int | None = None,
    ) -> list[NodeRow]:
        table = NodeTable
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            wanted = select(table.__table__).where(table.campaign == number)
            if best_first:
                wanted = wanted.where(table.score.is_not(None)).order_by(table.score.desc(), table.step)
            else:
                wanted = wanted.order_by(table.step)
            if as_of is not None:
                wanted = wanted.where((table.judged_at if best_first else table.born) < as_of)
            rows = connection.execute(wanted.offset(start).limit(limit)).all()
        found = [node_row(row) for row in rows]
        return found if as_of is None else [as_of_row(row, as_of) for row in found]

    def lineage(self, campaign_id: str, step: int) -> list[NodeRow]:
        table = NodeTable
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            line = select(table.__table__).where(table.campaign == number, table.step == step)
            walk = line.cte("line", recursive=True)
            above = aliased(table.__table__)
            up = select(above).where(above.c.campaign == number, above.c.step == walk.c.parent)
            walk = walk.union_all(up.where(walk.c.parent < walk.c.step))  # a parent is older: no record makes a loop
            # Whole rows in the recursion and no ORDER BY, both of which SQLite answers by a scan of the campaign.
            rows = sorted(connection.execute(select(walk)).all(), key=lambda row: int(row.step))
        if not rows:
            raise unknown_step(campaign_id, step)
        return [node_row(row) for row in rows]

    def children(self, campaign_id: str, steps: Sequence[int], *, limit: int) -> Mapping[int, Children]:
        found: dict[int, list[NodeRow]] = {step: [] for step in steps}
        totals = dict.fromkeys(steps, 0)
        with self._transaction() as connection:
            number = self._campaign(connection, campaign_id).number
            for chunk in chunks(list(found), MAX_UNION):
                totals |= {row.parent: row.n_total for row in connection.execute(_child_counts(number, chunk))}
                for row in connection.execute(_best_children(number, chunk, limit)):
                    found[row.parent].append(node_row(row))
        return {step: Children(rows=tuple(rows), n_total=totals[step]) for step, rows in found.items()}

    def campaigns(self) -> list[CampaignRow]:
        with self._transaction() as connection:
            rows = connection.execute(select(CampaignTable.__table__).order_by(CampaignTable.number)).all()
        return [campaign_row(row) for row in rows]

    def resolve(self, prefix: str) -> str:
        return pick_campaign(prefix, self.campaigns())

    def secret(self, campaign_id: str) -> str:
        with self._transaction() as connection:
            return str(self._campaign(connection, campaign_id).secret)

    def put_blob(self, data: bytes) -> str:
        return self._blobs.put(data)

    def get_blob(self, sha256: str) -> bytes:
        return self._blobs.get(sha256)

    @staticmethod
    def _campaign(connection: Connection, campaign_id: str, *, lock: bool = False) -> Row[Any]:
        """`lock`: no other transaction appends to the campaign until this one ends."""
        wanted = select(CampaignTable.__table__).where(CampaignTable.id == campaign_id)
        row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
        if row is None:
            raise unknown_campaign(campaign_id)
        return row


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _child_counts(number: int, steps: Sequence[int]) -> Select[int | None, int]:
    counted = select(NodeTable.parent, func.count().label("n_total")).where(NodeTable.campaign == number)
    return counted.where(NodeTable.parent.in_(steps)).group_by(NodeTable.parent)


def _best_children(number: int, steps: Sequence[int], limit: int) -> Any:
    """A select of its own per parent: each stops at `limit` rows of the index, however many children there are."""
    table = NodeTable
    best = [
        select(table.__table__)
        .where(table.campaign == number, table.parent == step)
        .order_by(table.score.desc().nulls_last(), table.step)
        .limit(limit)
        .subquery()
        for step in steps
    ]
    return union_all(*(select(each) for each in best))
