"""Campaigns, their events and the projection of nodes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "campaign",
        sa.Column("number", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("task_name", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("n_events", sa.Integer, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_campaign"),
        sa.UniqueConstraint("id", name="uq_campaign_id"),
    )
    op.create_table(
        "event",
        sa.Column("campaign", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("slot", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "seq", name="pk_event"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.number"], name="fk_event_campaign"),
        sa.UniqueConstraint("campaign", "kind", "slot", name="uq_event_campaign_kind_slot"),
    )
    op.create_table(
        "node",
        sa.Column("campaign", sa.Integer, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("candidate_id", sa.Text, nullable=False),
        sa.Column("operator", sa.Text, nullable=False),
        sa.Column("parents", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("same_as", sa.Integer),
        sa.Column("speedup", sa.Double),
        sa.Column("low", sa.Double),
        sa.Column("high", sa.Double),
        sa.PrimaryKeyConstraint("campaign", "step", name="pk_node"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.number"], name="fk_node_campaign"),
    )
    op.create_index("ix_node_campaign_low", "node", ["campaign", "low"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION kernelevolve_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ "
            "BEGIN RAISE EXCEPTION '%s are append-only', TG_TABLE_NAME; END $$"
        )
        op.execute(
            "CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON event "
            "FOR EACH STATEMENT EXECUTE FUNCTION kernelevolve_append_only()"
        )
        return
    for action in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER event_no_{action.lower()} BEFORE {action} ON event "
            f"BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
        )
