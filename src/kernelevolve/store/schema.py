"""The tables. A change here needs a migration in `migrations/versions` and a new HEAD; a test compares the two."""

from __future__ import annotations

from sqlalchemy import Double, ForeignKey, ForeignKeyConstraint, Index, MetaData, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

HEAD = "0001"  # the newest revision this version of kernelevolve knows; revisions sort as text
VERSION_TABLE = "kernelevolve_version"  # not Alembic's default name: another tool may share the file

_NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=_NAMES)


class CampaignTable(Base):
    """`n_events` and `closed` are counters over `event`, written in the same transaction."""

    __tablename__ = "campaign"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(Text, unique=True)
    task_name: Mapped[str] = mapped_column(Text)
    created: Mapped[str] = mapped_column(Text)
    secret: Mapped[str] = mapped_column(Text)
    n_events: Mapped[int]
    closed: Mapped[bool]


class EventTable(Base):
    """Append-only: triggers refuse updates and deletes. `slot` is the step, or 0 for events of a whole campaign."""

    __tablename__ = "event"
    __table_args__ = (UniqueConstraint("campaign", "kind", "slot"),)

    campaign: Mapped[int] = mapped_column(ForeignKey("campaign.number"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    slot: Mapped[int]
    body: Mapped[str] = mapped_column(Text)


class NodeTable(Base):
    """A projection of `event`, one row per step."""

    __tablename__ = "node"
    __table_args__ = (
        Index(None, "campaign", "low"),
        ForeignKeyConstraint(["campaign"], ["campaign.number"]),
    )

    campaign: Mapped[int] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    candidate_id: Mapped[str] = mapped_column(Text)
    operator: Mapped[str] = mapped_column(Text)
    parents: Mapped[str] = mapped_column(Text)  # JSON list of steps
    outcome: Mapped[str | None] = mapped_column(Text)
    same_as: Mapped[int | None]
    speedup: Mapped[float | None] = mapped_column(Double)
    low: Mapped[float | None] = mapped_column(Double)
    high: Mapped[float | None] = mapped_column(Double)
