"""What lists and searches ask for, kept beside each node; blobs and leases for stores of several hosts.

The columns of old rows are filled from the old events. Nothing is imported from the rest of the package: this file must
go on reading what version 0001 wrote, whatever the models become.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

GetBlob = Callable[[str], bytes | None]


def upgrade() -> None:
    for name in ("task_id", "family", "dtype", "platform"):
        op.add_column("campaign", sa.Column(name, sa.Text))
    op.add_column("campaign", sa.Column("winner", sa.Integer))
    for column in (
        sa.Column("score", sa.Double), sa.Column("language", sa.Text), sa.Column("recipe", sa.Text),
        sa.Column("ask", sa.Integer), sa.Column("parent", sa.Integer), sa.Column("born", sa.Integer),
        sa.Column("judged_at", sa.Integer),
    ):  # fmt: skip
        op.add_column("node", column)
    op.create_table(
        "blob",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_blob"),
    )
    op.create_table(
        "campaign_lease",
        sa.Column("campaign", sa.Integer, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("token", sa.Integer, nullable=False),
        sa.Column("expires_s", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("campaign", name="pk_campaign_lease"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.number"], name="fk_campaign_lease_campaign"),
    )
    _protect_blobs()
    op.drop_index("ix_node_campaign_low", "node")
    op.create_index("ix_node_campaign_score_judged_at", "node", ["campaign", "score", "judged_at"])
    op.create_index("ix_node_campaign_parent_score", "node", ["campaign", "parent", "score"])
    connection = op.get_bind()
    get_blob: GetBlob = context.config.attributes.get("get_blob") or (lambda name: None)
    for campaign in connection.execute(sa.text("SELECT number FROM campaign")).scalars().all():
        _fill(connection, campaign, get_blob)


def _protect_blobs() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER blob_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON blob "
            "FOR EACH STATEMENT EXECUTE FUNCTION kernelevolve_append_only()"
        )
        return
    for action in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER blob_no_{action.lower()} BEFORE {action} ON blob "
            f"BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END"
        )


def _fill(connection: sa.Connection, campaign: int, get_blob: GetBlob) -> None:
    events = connection.execute(
        sa.text("SELECT seq, kind, body FROM event WHERE campaign = :campaign ORDER BY seq"), {"campaign": campaign}
    )
    for seq, kind, body in events.all():
        data = json.loads(body)
        here = {"campaign": campaign, "step": data.get("step"), "seq": seq}
        if kind == "opened":
            _fill_campaign(connection, here, data, get_blob)
        elif kind == "proposed":
            candidate = _blob(data.get("candidate"), get_blob)
            parents = data["move"].get("parents") or [0]
            values = {
                "language": candidate.get("language"), "recipe": candidate.get("origin", {}).get("recipe"),
                "ask": data.get("ask"), "parent": parents[0],
            }  # fmt: skip
            _update(connection, "node", {"born": seq, **values}, here)
        elif kind == "judged":
            timing = data["verdict"].get("timing")
            usable = timing and timing["low"] > 0 and data.get("same_as") is None
            _update(connection, "node", {"judged_at": seq, "score": math.log(timing["low"]) if usable else None}, here)
        elif kind == "closed":
            _update(connection, "campaign", {"winner": data.get("winner")}, here)


def _fill_campaign(connection: sa.Connection, here: dict[str, Any], data: dict[str, Any], get_blob: GetBlob) -> None:
    task = _blob(data.get("task"), get_blob)
    # A task's identity is the hash of its canonical JSON, which is also the blob's name.
    values = {"task_id": data["task"].get("blob"), "family": task.get("family"), "dtype": task.get("dtype")}
    _update(connection, "campaign", {**values, "platform": data["facts"].get("name")}, here)


def _blob(field: Any, get_blob: GetBlob) -> dict[str, Any]:
    """The big field itself; empty when its blob is gone, which must not keep a store from being opened."""
    if isinstance(field, dict) and "blob" not in field:
        return field
    data = get_blob(field["blob"]) if field else None
    return json.loads(data) if data else {}


def _update(connection: sa.Connection, table: str, values: dict[str, Any], here: dict[str, Any]) -> None:
    columns = ", ".join(f"{name} = :v_{name}" for name in values)
    where = "number = :campaign" if table == "campaign" else "campaign = :campaign AND step = :step"
    bound = {f"v_{name}": value for name, value in values.items()}
    connection.execute(sa.text(f"UPDATE {table} SET {columns} WHERE {where}"), {**here, **bound})
