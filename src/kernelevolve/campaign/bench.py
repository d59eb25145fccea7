"""Candidates in work: handed in as there is room, their verdicts recorded. A repeat is never judged again."""

from __future__ import annotations

import threading

from kernelevolve.campaign.background import Background
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.judgement import Explain, judgement, original, repeat
from kernelevolve.campaign.judging import Judging, Started
from kernelevolve.model.verdict import Verdict
from kernelevolve.search.tree import Node


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
            repeat(self._journal, node)

    def _start(self, node: Node) -> None:
        self._journal.say(f"judging step {node.step}")
        started = self._judging.start(node.candidate, "screen")
        self._started[node.step] = started
        if not self._in_order:
            self._background.start(node.step, lambda: self._judging.verdict(started))

    def _oldest(self) -> None:
        pending = self._journal.tree.pending
        if pending and not repeat(self._journal, pending[0]):
            node = pending[0]
            self._record(node, self._judging.verdict(self._started[node.step]))

    def _record(self, node: Node, verdict: Verdict) -> None:
        self._started.pop(node.step, None)
        self._journal.record(*judgement(self._journal, node, verdict, self._explain))
