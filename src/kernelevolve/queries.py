"""Read-only questions that all interfaces share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kernelevolve.errors import RecordError, UsageError
from kernelevolve.model.events import Opened
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Verdict
from kernelevolve.search.tree import Node, Tree
from kernelevolve.store.base import NodeRow, Store
from kernelevolve.store.near import NearWinner, near_campaigns, near_winners

__all__ = ["NearWinner", "near_winners"]  # found below the campaign's layer, which starts from them

PENDING = "pending"
DUPLICATE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A moment at which the best lower bound rose."""

    step: int
    elapsed_s: float
    speedup: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """`speedup`, `low`, `high` come from the strongest evidence there is, named by `level`; None without a correct
    candidate. Only level "sealed" with a `winner` is a claim."""

    campaign_id: str
    opened: Opened
    n_nodes: int
    outcomes: dict[str, int]
    elapsed_s: float
    status: str  # "searching", "finishing" or "closed"
    reason: str
    winner: int | None
    best_step: int | None
    level: str
    speedup: float | None
    low: float | None
    high: float | None


def load_tree(store: Store, campaign: str) -> Tree:
    """`campaign` is an id, the start of one, or "latest". Raises UsageError."""
    return Tree(store.read(store.resolve(campaign)))


def best_rows(store: Store, campaign: str, *, limit: int = 10) -> list[NodeRow]:
    """The best correct nodes by lower bound, without reading all events."""
    return store.nodes(store.resolve(campaign), best_first=True, limit=limit)


def best_everywhere(store: Store, task: Task, platform: str, *, limit: int = 10) -> list[tuple[str, NodeRow]]:
    """(campaign, node): the best nodes over all campaigns on the task and on near ones, highest lower bound first."""
    found = [
        (row.id, node)
        for row in near_campaigns(store, task, platform)
        for node in store.nodes(row.id, best_first=True, limit=limit)
    ]
    return sorted(found, key=lambda entry: (-(entry[1].score or 0.0), entry[0], entry[1].step))[:limit]


def best_ancestor(store: Store, campaign: str, step: int) -> NodeRow | None:
    """The best measured node above `step` on its lineage, of equals the oldest; None when none was measured."""
    above = store.lineage(store.resolve(campaign), step)[:-1]
    return max((row for row in above if row.score is not None), key=lambda row: row.score or 0.0, default=None)


def siblings(store: Store, campaign: str, step: int, *, limit: int = 10) -> list[NodeRow]:
    """The best other children of `step`'s first parent; of a draft the other drafts."""
    campaign_id = store.resolve(campaign)
    parent = store.lineage(campaign_id, step)[-1].parent
    rows = store.children(campaign_id, [parent], limit=limit + 1)[parent].rows
    return [row for row in rows if row.step != step][:limit]


def tree_as_of(store: Store, campaign: str, *, seq: int | None = None, step: int | None = None) -> Tree:
    """The tree as it was: after the first `seq` events, or just before `step` was proposed, which is what the policy
    could know when it chose. Raises UsageError."""
    campaign_id = store.resolve(campaign)
    if step is not None:
        seq = store.lineage(campaign_id, step)[-1].born
    return Tree(store.read(campaign_id, 0, seq))


def node_of_step(tree: Tree, step: int) -> Node:
    """Raises UsageError for a step the campaign does not have."""
    try:
        return tree.node(step)
    except RecordError as error:
        raise UsageError(str(error)) from error


def lineage(tree: Tree, step: int) -> list[Node]:
    """From the draft down to `step`, along first parents. Raises UsageError."""
    node_of_step(tree, step)
    return tree.lineage(step)


def status_of(node: Node) -> str:
    """An outcome's name, "duplicate" or "pending"."""
    if node.same_as is not None:
        return DUPLICATE
    return node.verdict.outcome.value if node.verdict else PENDING


def outcome_counts(tree: Tree) -> dict[str, int]:
    """Nodes per status, the most frequent first. The counts add up to the number of nodes."""
    return dict(Counter(status_of(node) for node in tree.nodes).most_common())


def best_so_far(tree: Tree) -> list[CurvePoint]:
    """The best lower bound over time, as measured during the search."""
    points: list[CurvePoint] = []
    for node in tree.nodes:
        timing = node.verdict.timing if node.verdict else None
        if timing is not None and (not points or timing.low > points[-1].low):
            points.append(
                CurvePoint(
                    step=node.step,
                    elapsed_s=node.elapsed_s,
                    speedup=timing.speedup,
                    low=timing.low,
                    high=timing.high,
                )
            )
    return points


def summarize(campaign_id: str, tree: Tree) -> Summary:
    """Raises RecordError for a tree without a beginning."""
    if tree.opened is None:
        raise RecordError(f"campaign {campaign_id} has no first event")
    step, level, verdict = _strongest(tree)
    timing = verdict.timing if verdict else None
    finishing = bool(tree.confirmed) or tree.sealed is not None
    return Summary(
        campaign_id=campaign_id,
        opened=tree.opened,
        n_nodes=len(tree),
        outcomes=outcome_counts(tree),
        elapsed_s=tree.elapsed_s,
        status="closed" if tree.closed else "finishing" if finishing else "searching",
        reason=tree.closed.reason if tree.closed else "",
        winner=tree.closed.winner if tree.closed else None,
        best_step=step,
        level=level,
        speedup=timing.speedup if timing else None,
        low=timing.low if timing else None,
        high=timing.high if timing else None,
    )


def _strongest(tree: Tree) -> tuple[int | None, str, Verdict | None]:
    if tree.sealed is not None:
        return tree.sealed.step, "sealed", tree.sealed.verdict
    lows = {step: verdict.timing.low for step, verdict in tree.confirmed.items() if verdict.timing is not None}
    if lows:
        step = max(lows, key=lambda step: (lows[step], -step))
        return step, "confirm", tree.confirmed[step]
    best = tree.best()
    return (best.step, "screen", best.verdict) if best else (None, "none", None)
