"""Rows of the tables from and to the values of the contract."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Row

from kernelevolve.model.verdict import Outcome
from kernelevolve.store.base import CampaignRow, NodeRow

_SAME = (
    "step", "candidate_id", "operator", "same_as", "speedup", "low", "high", "score", "language", "recipe", "ask",
    "born", "judged_at",
)  # fmt: skip


def node_values(row: NodeRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in _SAME}
    outcome = row.outcome.value if row.outcome else None
    return {**values, "parents": json.dumps(row.parents), "parent": row.parent, "outcome": outcome}


def node_row(row: Row[Any]) -> NodeRow:
    values = {name: getattr(row, name) for name in _SAME}
    for name in ("language", "recipe"):
        values[name] = values[name] or ""
    return NodeRow(
        **values, parents=tuple(json.loads(row.parents)), outcome=Outcome(row.outcome) if row.outcome else None
    )


def campaign_row(row: Row[Any]) -> CampaignRow:
    values = {name: getattr(row, name) or "" for name in ("task_id", "family", "dtype", "platform")}
    return CampaignRow(
        id=row.id, task_name=row.task_name, created=row.created, n_events=row.n_events, closed=row.closed,
        winner=row.winner, **values,
    )  # fmt: skip
