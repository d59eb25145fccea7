"""A campaign's events folded into what the interfaces show: one row per node, the lineage, the counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernelevolve.errors import UsageError
from kernelevolve.model.brief import Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.events import Closed, Event, Opened
from kernelevolve.model.verdict import Timing, Verdict
from kernelevolve.queries import Summary, status_of, summarize
from kernelevolve.search.tree import Tree
from kernelevolve.store.base import Store


@dataclass(frozen=True, kw_only=True)
class Row:
    """One node. `elapsed_s` is the search time at its verdict (at its birth while it has none); `status` is an
    outcome's name, "duplicate" or "pending"."""

    step: int
    move: Move
    candidate: Candidate
    elapsed_s: float
    status: str
    verdict: Verdict | None = None
    same_as: int | None = None
    diagnosis: Diagnosis | None = None
    confirmed: Verdict | None = None
    sealed: Verdict | None = None

    @property
    def correct(self) -> bool:
        return self.status == "correct"

    @property
    def speedup(self) -> float | None:
        """As measured during the search, against the better baseline of each shape."""
        return self.verdict.timing.speedup if self.verdict and self.verdict.timing else None

    @property
    def parent(self) -> int | None:
        return self.move.parents[0] if self.move.parents else None


@dataclass(frozen=True, kw_only=True)
class Record:
    campaign_id: str
    opened: Opened
    summary: Summary
    rows: Mapping[int, Row]
    closed: Closed | None

    @property
    def winner(self) -> Row | None:
        return self.rows.get(self.closed.winner) if self.closed and self.closed.winner is not None else None

    @property
    def leader(self) -> Row | None:
        """The winner, or without one the node with the highest lower bound by the strongest evidence there is."""
        best = self.summary.best_step
        return self.winner or (self.rows[best] if best is not None else None)

    @property
    def elapsed_s(self) -> float:
        return self.summary.elapsed_s

    def row(self, step: int) -> Row:
        """Raises UsageError with the steps that exist."""
        if step not in self.rows:
            raise UsageError(f"no step {step}: campaign {self.campaign_id} has steps 1 to {max(self.rows, default=0)}")
        return self.rows[step]

    def lineage(self, step: int) -> list[int]:
        """From the first ancestor to `step`, along first parents."""
        path: dict[int, None] = {}
        current: int | None = step
        while current is not None and current in self.rows and current not in path:
            path[current] = None
            current = self.rows[current].parent
        return list(path)[::-1]

    def children(self) -> dict[int | None, list[int]]:
        """Parent step (None for drafts) -> steps born from it, in order. An unknown parent counts as None."""
        found: dict[int | None, list[int]] = {}
        for step, row in sorted(self.rows.items()):
            parent = row.parent if row.parent in self.rows else None
            found.setdefault(parent, []).append(step)
        return found

    def counts(self) -> dict[str, int]:
        """Status -> number of nodes, most frequent first."""
        return self.summary.outcomes

    def best_so_far(self) -> list[tuple[Row, float]]:
        """Every node in order with the best search speed-up up to and including it; 1.0 is the baseline."""
        best, curve = 1.0, []
        for _, row in sorted(self.rows.items()):
            if row.correct and row.speedup:
                best = max(best, row.speedup)
            curve.append((row, best))
        return curve


def fold(campaign_id: str, events: Iterable[Event]) -> Record:
    """Raises RecordError when the events are no campaign: no opening, or one that does not fit those before it."""
    tree = Tree(events)
    summary, sealed = summarize(campaign_id, tree), tree.sealed
    rows = {
        node.step: Row(
            step=node.step, move=node.move, candidate=node.candidate, elapsed_s=node.elapsed_s, verdict=node.verdict,
            status=status_of(node), same_as=node.same_as, diagnosis=node.diagnosis,
            confirmed=tree.confirmed.get(node.step),
            sealed=sealed.verdict if sealed and sealed.step == node.step else None,
        )
        for node in tree.nodes
    }  # fmt: skip
    return Record(campaign_id=campaign_id, opened=summary.opened, summary=summary, rows=rows, closed=tree.closed)


def load_record(store: Store, campaign: str) -> Record:
    """`campaign` is an id, the start of one, or "latest". Raises UsageError when there is none."""
    campaign_id = store.resolve(campaign)
    return fold(campaign_id, store.read(campaign_id))


def baseline_names(timing: Timing) -> list[str]:
    """In order of first appearance."""
    return list(dict.fromkeys(comparison.baseline for shape in timing.shapes for comparison in shape.comparisons))
