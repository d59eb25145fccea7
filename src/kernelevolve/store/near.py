"""What campaigns on near tasks found: places to start a new one from."""

from __future__ import annotations

from dataclasses import dataclass

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Proposed
from kernelevolve.model.task import Task
from kernelevolve.store.base import CampaignRow, NodeRow, Store

PER_CAMPAIGN = 3
"""Nodes looked at in each campaign, its winner among them."""


@dataclass(frozen=True, kw_only=True)
class NearWinner:
    """A kernel that won, or came close, elsewhere. Its numbers were measured for that task, not for the new one."""

    candidate: Candidate
    campaign_id: str
    task_name: str
    step: int
    same_task: bool
    won: bool
    score: float  # ln of the lower bound of its speed-up, there


def near_winners(
    store: Store, task: Task, platform: str, *, limit: int = 8, exclude: tuple[str, ...] = ()
) -> list[NearWinner]:
    """From closed campaigns on the same task, or on one of the same family and dtype, on `platform`. Of the same task
    first, winners before others, then the highest score; each kernel once. `exclude`: ids of campaigns."""
    found: dict[str, tuple[tuple[bool, bool, float], CampaignRow, NodeRow]] = {}
    for row in near_campaigns(store, task, platform):
        if row.id in exclude or not row.closed:
            continue
        for node in _nodes(store, row):
            rank = (row.task_id == task.content_id, node.step == row.winner, node.score or 0.0)
            if node.candidate_id not in found or rank > found[node.candidate_id][0]:
                found[node.candidate_id] = (rank, row, node)
    best = sorted(found.values(), key=lambda entry: (entry[0], entry[1].id), reverse=True)[:limit]
    return [
        NearWinner(
            candidate=_candidate(store, row.id, node.step), campaign_id=row.id, task_name=row.task_name,
            step=node.step, same_task=rank[0], won=rank[1], score=rank[2],
        )
        for rank, row, node in best
    ]  # fmt: skip


def near_campaigns(store: Store, task: Task, platform: str) -> list[CampaignRow]:
    """Closed or not, oldest first. A task without a family is near to itself only."""
    return [
        row
        for row in store.campaigns()
        if row.platform == platform
        and (row.task_id == task.content_id or (row.family == task.family != "" and row.dtype == task.dtype))
    ]


def _nodes(store: Store, row: CampaignRow) -> list[NodeRow]:
    nodes = store.nodes(row.id, best_first=True, limit=PER_CAMPAIGN)
    if row.winner is not None and all(node.step != row.winner for node in nodes):
        nodes = [*store.lineage(row.id, row.winner)[-1:], *nodes[:-1]]
    return nodes


def _candidate(store: Store, campaign_id: str, step: int) -> Candidate:
    return next(event.candidate for event in store.events_of(campaign_id, step) if isinstance(event, Proposed))
