"""The Tree: a view of a campaign, folded from its events. One event costs O(log n), however long the campaign."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kernelevolve.errors import RecordError
from kernelevolve.model.brief import Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.events import (
    Answered,
    Asked,
    Closed,
    Confirmed,
    Diagnosed,
    Event,
    Insight,
    Judged,
    Opened,
    Proposed,
    Reserved,
    Sealed,
    Settled,
)
from kernelevolve.model.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Node:
    """One proposed candidate and what became of it."""

    step: int
    move: Move
    candidate: Candidate
    candidate_id: str
    elapsed_s: float  # search time at which it was judged, until then proposed
    verdict: Verdict | None = None
    same_as: int | None = None
    diagnosis: Diagnosis | None = None

    @property
    def pending(self) -> bool:
        return self.verdict is None

    @property
    def score(self) -> float | None:
        """ln of the speed-up's lower bound. None unless correct and measured."""
        timing = self.verdict.timing if self.verdict else None
        return math.log(timing.low) if timing and timing.low > 0 else None

    @property
    def usable(self) -> bool:
        """A parent worth having: correct, measured, and not a repeat of an earlier node."""
        return self.score is not None and self.same_as is None


class Tree:
    """Read-only for everyone but the one who folds it: only the owner calls `append`."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.opened: Opened | None = None
        self.confirmed: dict[int, Verdict] = {}
        self.sealed: Sealed | None = None
        self.closed: Closed | None = None
        self.elapsed_s = 0.0
        self.n_events = 0
        self.asks: dict[int, Asked] = {}
        self.answers: dict[int, Answered] = {}
        self.reserved: dict[int, Reserved] = {}
        self.settled: dict[int, Settled] = {}
        self.insights: list[Insight] = []
        self._nodes: list[Node] = []
        self._children: list[list[int]] = []
        self._first_of: dict[str, int] = {}
        self._pending: dict[int, None] = {}
        self._ranked: list[tuple[float, int]] = []  # (-score, step) of the usable nodes: best first
        for event in events:
            self.append(event)

    def append(self, event: Event) -> None:
        """Raises RecordError for an event that does not fit the ones before it."""
        self.n_events += 1
        if isinstance(event, Proposed):
            self._propose(event)
        elif isinstance(event, Judged):
            self._judge(event)
        elif isinstance(event, Diagnosed):
            self._replace(replace(self.node(event.step), diagnosis=event.diagnosis))
        elif isinstance(event, Confirmed):
            self.confirmed[event.step] = event.verdict
        elif isinstance(event, Sealed):
            self.sealed = event
        elif isinstance(event, Closed):
            self.closed = event
        elif isinstance(event, Opened):
            self.opened = event
        else:
            self._question(event)
        if not isinstance(event, Opened | Diagnosed):
            self.elapsed_s = max(self.elapsed_s, event.elapsed_s)

    def __len__(self) -> int:
        """Number of nodes, judged or not."""
        return len(self._nodes)

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes; the one of step `n` is at `n - 1`."""
        return self._nodes

    def node(self, step: int) -> Node:
        """Raises RecordError for a step that does not exist."""
        if not 1 <= step <= len(self._nodes):
            raise RecordError(f"there is no step {step}; the tree has {len(self._nodes)} steps")
        return self._nodes[step - 1]

    def children(self, step: int) -> Sequence[int]:
        """Steps that name `step` as a parent, oldest first."""
        self.node(step)
        return self._children[step - 1]

    def lineage(self, step: int) -> list[Node]:
        """From a root down to `step`, along first parents."""
        line = [self.node(step)]
        while line[-1].move.parents:
            line.append(self.node(line[-1].move.parents[0]))
        return line[::-1]

    def first_of(self, candidate_id: str) -> Node | None:
        """The earliest node with this candidate."""
        step = self._first_of.get(candidate_id)
        return None if step is None else self._nodes[step - 1]

    @property
    def open_asks(self) -> list[Asked]:
        """Questions without an answer, oldest first."""
        return [asked for ask, asked in self.asks.items() if ask not in self.answers]

    @property
    def pending(self) -> list[Node]:
        """Proposed and not judged, oldest first."""
        return [self._nodes[step - 1] for step in self._pending]

    @property
    def n_usable(self) -> int:
        return len(self._ranked)

    def best(self) -> Node | None:
        """The usable node with the highest lower bound; of equals the earliest."""
        return self._nodes[self._ranked[0][1] - 1] if self._ranked else None

    def frontier(self, n: int | None = None) -> list[Node]:
        """The `n` best usable nodes, best first."""
        return [self._nodes[step - 1] for _, step in self._ranked[:n]]

    def rank(self, node: Node) -> float:
        """In (0, 1]: the share of usable nodes whose score is not higher. Equal scores have equal ranks."""
        if node.score is None:
            raise ValueError(f"step {node.step} has no score")
        better = bisect_left(self._ranked, (-node.score, 0))
        return 1.0 - better / max(1, len(self._ranked))

    def _question(self, event: Asked | Answered | Reserved | Settled | Insight) -> None:
        if isinstance(event, Asked):
            self.asks[event.ask] = event
        elif isinstance(event, Answered):
            if event.ask not in self.asks:
                raise RecordError(f"question {event.ask} is answered and was never asked")
            self.answers[event.ask] = event
        elif isinstance(event, Reserved):
            self.reserved[event.call] = event
        elif isinstance(event, Settled):
            if event.call not in self.reserved:
                raise RecordError(f"call {event.call} is settled and nothing was reserved for it")
            self.settled[event.call] = event
        else:
            self.insights.append(event)

    def _propose(self, event: Proposed) -> None:
        if event.step != len(self._nodes) + 1:
            raise RecordError(f"step {event.step} follows step {len(self._nodes)}")
        if any(not 1 <= parent < event.step for parent in event.move.parents):
            raise RecordError(f"step {event.step} has parents {event.move.parents}, which are not all earlier steps")
        identity = event.candidate.id
        self._nodes.append(
            Node(
                step=event.step,
                move=event.move,
                candidate=event.candidate,
                candidate_id=identity,
                elapsed_s=event.elapsed_s,
            )
        )
        self._children.append([])
        for parent in dict.fromkeys(event.move.parents):
            self._children[parent - 1].append(event.step)
        self._first_of.setdefault(identity, event.step)
        self._pending[event.step] = None

    def _judge(self, event: Judged) -> None:
        node = self.node(event.step)
        if not node.pending:
            raise RecordError(f"step {event.step} is judged twice")
        judged = replace(node, verdict=event.verdict, same_as=event.same_as, elapsed_s=event.elapsed_s)
        self._replace(judged)
        del self._pending[event.step]
        if judged.usable and judged.score is not None:
            insort(self._ranked, (-judged.score, judged.step))

    def _replace(self, node: Node) -> None:
        self._nodes[node.step - 1] = node
