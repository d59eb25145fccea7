"""The Tree: a view of a campaign, folded from its events. One event costs O(log n), however long the campaign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from kernelevolve.model.normal import normal_id
from kernelevolve.model.verdict import Verdict
from kernelevolve.search.branches import limit_of
from kernelevolve.search.fitness import Ruler, make_ruler
from kernelevolve.search.index import Index
from kernelevolve.search.ranking import Ranking


@dataclass(frozen=True, kw_only=True)
class Node:
    """One proposed candidate and what became of it."""

    step: int
    move: Move
    candidate: Candidate
    candidate_id: str
    normal_id: str  # the same for candidates that differ in comments and layout only
    elapsed_s: float  # search time at which it was judged, until then proposed
    verdict: Verdict | None = None
    same_as: int | None = None
    diagnosis: Diagnosis | None = None
    score: float | None = None  # by the fitness of the campaign, more is better; None unless correct and measured

    @property
    def pending(self) -> bool:
        return self.verdict is None

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
        self.ruler: Ruler = make_ruler("speedup")
        self.index = Index()
        self._ranking = Ranking()
        self._open_asks: dict[int, Asked] = {}
        self._n_missing = 0
        self._nodes: list[Node] = []
        self._children: list[list[int]] = []
        self._first_of: dict[str, int] = {}
        self._pending: dict[int, None] = {}
        for event in events:
            self.append(event)

    def append(self, event: Event) -> None:
        """Raises RecordError for an event that does not fit the ones before it, and UnknownNameError for an opening
        with a fitness that there is not."""
        self.n_events += 1
        if isinstance(event, Proposed):
            self._propose(event)
        elif isinstance(event, Judged):
            self._judge(event)
        elif isinstance(event, Diagnosed):
            self._diagnose(event)
        elif isinstance(event, Confirmed):
            self.confirmed[event.step] = event.verdict
        elif isinstance(event, Sealed):
            self.sealed = event
        elif isinstance(event, Closed):
            self.closed = event
        elif isinstance(event, Opened):
            self._open(event)
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

    def first_of(self, identity: str) -> Node | None:
        """The earliest node with this `normal_id`."""
        step = self._first_of.get(identity)
        return None if step is None else self._nodes[step - 1]

    @property
    def open_asks(self) -> list[Asked]:
        """Questions without an answer, oldest first."""
        return list(self._open_asks.values())

    def in_flight(self) -> Iterator[Move]:
        """The moves that are being worked on: of nodes not judged yet, and of questions not answered yet."""
        yield from (node.move for node in self.pending)
        for asked in self._open_asks.values():
            yield from (asked.move for _ in range(asked.n_wanted))

    @property
    def n_started(self) -> int:
        """Attempts begun: nodes, what open questions are to bring, and what answers owed and did not bring."""
        return len(self._nodes) + sum(asked.n_wanted for asked in self._open_asks.values()) + self._n_missing

    @property
    def stall(self) -> int:
        """Attempts begun since the best last rose."""
        return self.n_started - self.index.rose_at

    def repeats(self, step: int) -> Sequence[int]:
        """Later steps with the same candidate: other ways to the same place."""
        self.node(step)
        return self.index.repeats.get(step, ())

    @property
    def pending(self) -> list[Node]:
        """Proposed and not judged, oldest first."""
        return [self._nodes[step - 1] for step in self._pending]

    @property
    def n_usable(self) -> int:
        return len(self._ranking)

    def best(self) -> Node | None:
        """The usable node that ranks first: by default the one with the highest lower bound, of equals the earliest."""
        return next(self.ranked(), None)

    def frontier(self, n: int | None = None) -> list[Node]:
        """The `n` best usable nodes, best first."""
        return [self._nodes[step - 1] for step in self._ranking.steps[:n]]

    def ranked(self) -> Iterator[Node]:
        """The usable nodes, best first, one at a time."""
        return (self._nodes[step - 1] for step in self._ranking.steps)

    def at_place(self, place: int) -> Node:
        """The usable node at a place, 0 for the best."""
        return self._nodes[self._ranking.steps[place] - 1]

    def rank(self, node: Node) -> float:
        """In (0, 1]: the share of usable nodes that are not better. Equals have equal ranks."""
        if node.score is None:
            raise ValueError(f"step {node.step} has no score")
        return self._ranking.rank(node.step, node.score)

    def ranks(self) -> Sequence[float]:
        """By step, `ROOT` included: the rank of a usable node, 0 for every other."""
        return self._ranking.ranks(len(self._nodes))

    def _open(self, event: Opened) -> None:
        self.ruler = make_ruler(event.settings.fitness)
        self._ranking = Ranking(fronts=self.ruler.fronts)
        self.index.branches.limit = limit_of(event.settings)
        self.opened = event

    def _question(self, event: Asked | Answered | Reserved | Settled | Insight) -> None:
        if isinstance(event, Asked):
            self.asks[event.ask] = event
            if event.ask not in self.answers:
                self._open_asks[event.ask] = event
        elif isinstance(event, Answered):
            if event.ask not in self.asks:
                raise RecordError(f"question {event.ask} is answered and was never asked")
            self.answers[event.ask] = event
            if self._open_asks.pop(event.ask, None):
                self._n_missing += max(0, self.asks[event.ask].n_wanted - event.n_candidates)
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
        identity = normal_id(event.candidate)
        self._nodes.append(
            Node(
                step=event.step,
                move=event.move,
                candidate=event.candidate,
                candidate_id=event.candidate.id,
                normal_id=identity,
                elapsed_s=event.elapsed_s,
            )
        )
        self._children.append([])
        for parent in dict.fromkeys(event.move.parents):
            self._children[parent - 1].append(event.step)
        self._first_of.setdefault(identity, event.step)
        self._pending[event.step] = None
        self.index.born(event.step, event.move, event.candidate)

    def _judge(self, event: Judged) -> None:
        node = self.node(event.step)
        if not node.pending:
            raise RecordError(f"step {event.step} is judged twice")
        score = self.ruler.score(event.verdict)
        judged = replace(
            node, verdict=event.verdict, same_as=event.same_as, elapsed_s=event.elapsed_s, score=score
        )  # fmt: skip
        self._replace(judged)
        del self._pending[event.step]
        self.index.judged(
            node.step, node.candidate, score=score, same_as=event.same_as, diagnosis=node.diagnosis
        )  # fmt: skip
        better = None
        if judged.usable and score is not None:
            better = self._ranking.add(node.step, score, self.ruler.point(event.verdict))
        self.index.placed(node.move, better=better, n_started=self.n_started)

    def _diagnose(self, event: Diagnosed) -> None:
        node = self.node(event.step)
        if node.usable and node.score is not None:
            self.index.diagnosed(
                node.step, node.candidate, score=node.score, before=node.diagnosis, after=event.diagnosis
            )  # fmt: skip
        self._replace(replace(node, diagnosis=event.diagnosis))

    def _replace(self, node: Node) -> None:
        self._nodes[node.step - 1] = node
