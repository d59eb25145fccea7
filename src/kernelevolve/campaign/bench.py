"""Candidates in work: handed in as there is room, their verdicts recorded. A repeat is never judged again."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kernelevolve.campaign.background import Background
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.judging import Judging, Started
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.events import Diagnosed, Event, Judged, Opened
from kernelevolve.model.verdict import Verdict
from kernelevolve.search.tree import Node

Explain = Callable[[Verdict, Opened, Candidate], Diagnosis | None]
"""Why a candidate is as fast as it is. Pure; asked about correct candidates only."""


class Bench:
    """At most `n` candidates are with the farm at once. `in_order`: verdicts are recorded in the order of steps, each
    waited for; otherwise as they come, and `done` is told of them."""

    def __init__(
        self, *, journal: Journal, judging: Judging, explain: Explain | None, n: int, in_order: bool,
        done: threading.Event,
    ) -> None:  # fmt: skip
        self._journal = journal
        self._judging = judging
        self._explain = explain
        self._n = n
        self._in_order = in_order
        self._started: dict[int, Started] = {}
        self._background: Background[int, Verdict] = Background(done)

    @property
    def busy(self) -> bool:
        return bool(self._journal.tree.pending)

    def fill(self) -> None:
        """Hand in what is proposed, the oldest first."""
        for node in self._journal.tree.pending:
            if len(self._started) >= self._n:
                return
            if node.step not in self._started and original(self._journal, node) is None:
                self._start(node)

    def collect(self) -> None:
        """Record verdicts: the oldest one, waiting for it, or all that are there. Raises MachineError."""
        self.fill()
        if self._in_order:
            self._oldest()
            return
        ended = self._background.ended()
        for step, outcome in sorted(ended, key=lambda one: one[1].failed):  # a failure loses no verdict beside it
            self._record(self._journal.tree.node(step), outcome.value())
        for node in self._journal.tree.pending:
            self._repeat(node)

    def _start(self, node: Node) -> None:
        self._journal.say(f"judging step {node.step}")
        started = self._judging.start(node.candidate, "screen")
        self._started[node.step] = started
        if not self._in_order:
            self._background.start(node.step, lambda: self._judging.verdict(started))

    def _oldest(self) -> None:
        pending = self._journal.tree.pending
        if pending and not self._repeat(pending[0]):
            node = pending[0]
            self._record(node, self._judging.verdict(self._started[node.step]))

    def _record(self, node: Node, verdict: Verdict) -> None:
        self._started.pop(node.step, None)
        self._journal.record(*self._judgement(node, verdict))

    def _repeat(self, node: Node) -> bool:
        """Give a repeat its original's verdict, once there is one."""
        first = original(self._journal, node)
        if first is None or first.verdict is None:
            return False
        elapsed_s = self._journal.elapsed_s
        self._journal.record(Judged(step=node.step, verdict=first.verdict, elapsed_s=elapsed_s, same_as=first.step))
        return True

    def _judgement(self, node: Node, verdict: Verdict) -> list[Event]:
        events: list[Event] = [Judged(step=node.step, verdict=verdict, elapsed_s=self._journal.elapsed_s)]
        why = self._explain if verdict.correct else None
        diagnosis = why(verdict, self._journal.opened, node.candidate) if why is not None else None
        if diagnosis is not None:
            events.append(Diagnosed(step=node.step, diagnosis=diagnosis))
        return events


def original(journal: Journal, node: Node) -> Node | None:
    """The earlier node with the same candidate, comments and layout aside: it is not judged a second time."""
    first = journal.tree.first_of(node.normal_id)
    return first if first is not None and first.step < node.step else None
