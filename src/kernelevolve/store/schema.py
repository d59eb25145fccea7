"""The tables. A change here needs a migration in `migrations/versions` and a new HEAD; a test compares the two."""

from __future__ import annotations

from sqlalchemy import Double, ForeignKey, ForeignKeyConstraint, Index, LargeBinary, MetaData, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

HEAD = "0002"  # the newest revision this version of kernelevolve knows; revisions sort as text
VERSION_TABLE = "kernelevolve_version"  # not Alembic's default name: another tool may share the database

_NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=_NAMES)


class CampaignTable(Base):
    """`n_events`, `closed` and `winner` are a summary of `event`, written in the same transaction."""

    __tablename__ = "campaign"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(Text, unique=True)
    task_name: Mapped[str] = mapped_column(Text)
    created: Mapped[str] = mapped_column(Text)
    secret: Mapped[str] = mapped_column(Text)
    n_events: Mapped[int]
    closed: Mapped[bool]
    # The rest is NULL where a file of schema 0001 had lost the task's blob.
    task_id: Mapped[str | None] = mapped_column(Text)
    family: Mapped[str | None] = mapped_column(Text)
    dtype: Mapped[str | None] = mapped_column(Text)
    platform: Mapped[str | None] = mapped_column(Text)
    winner: Mapped[int | None]


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
    """A projection of `event`, one row per step. `born` and `judged_at` are the numbers of the events that say so:
    with them the table answers for any earlier moment too."""

    __tablename__ = "node"
    __table_args__ = (
        Index(None, "campaign", "score", "judged_at"),
        Index(None, "campaign", "parent", "score"),
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
    score: Mapped[float | None] = mapped_column(Double)
    language: Mapped[str | None] = mapped_column(Text)
    recipe: Mapped[str | None] = mapped_column(Text)
    ask: Mapped[int | None]
    parent: Mapped[int | None]  # the first of `parents`, 0 for a draft
    born: Mapped[int | None]
    judged_at: Mapped[int | None]


class BlobTable(Base):
    """Append-only. Used where several hosts share a store; a SQLite store keeps its blobs as files beside it."""

    __tablename__ = "blob"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class LeaseTable(Base):
    """Who may write to a campaign. `token` only rises; the writer with a lower one has lost its campaign."""

    __tablename__ = "campaign_lease"

    campaign: Mapped[int] = mapped_column(ForeignKey("campaign.number"), primary_key=True)
    owner: Mapped[str] = mapped_column(Text)
    token: Mapped[int]
    expires_s: Mapped[float] = mapped_column(Double)
