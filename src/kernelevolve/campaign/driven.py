"""A campaign driven from outside: somebody else proposes, whenever they like; the judging and the record are ours.

What enters the store is what the loop would have recorded, so reports, exports and a later reading see no difference.
Judging goes on in a thread of its own; every method here answers at once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kernelevolve.campaign.budget import Clock
from kernelevolve.campaign.driven_record import Record, Written
from kernelevolve.campaign.finish import finish
from kernelevolve.campaign.judgement import Explain, judgement, original, repeat
from kernelevolve.campaign.judging import Judging, Started
from kernelevolve.campaign.questions import n_at_once
from kernelevolve.campaign.seeds import policy_rng
from kernelevolve.campaign.stopping import stop_reason
from kernelevolve.errors import ClosedError, KernelEvolveError, SpentError, UsageError
from kernelevolve.farm.base import Farm
from kernelevolve.model.brief import Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Closed
from kernelevolve.search.base import Policy
from kernelevolve.search.tree import Node, Tree
from kernelevolve.store.base import Store

ENDED = "the agent ended the search"
State = Literal["proposed", "queued", "running", "done", "failed"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Of a step or of the finish. "proposed": nobody asked for a verdict yet; "failed": the machine's fault, or time
    spent, never the candidate's."""

    state: State
    text: str = ""
    n_before: int | None = None
    """Of a queued step: so many are judged before it."""


class Driven:
    """One per campaign and process. The caller holds the campaign's lock and closes `farm` after `close`."""

    def __init__(
        self,
        *,
        store: Store,
        campaign_id: str,
        farm: Farm,
        policy: Policy,
        explain: Explain | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._record = Record(store=store, campaign_id=campaign_id, clock=clock, say=self._said)
        self._policy, self._explain = policy, explain
        self._judging = Judging(farm=farm, journal=self._record.journal)
        self._changed = threading.Condition(self._record.journal.lock)
        self._n_at_once = n_at_once(self._record.journal)
        self._queue: deque[int] = deque()
        self._started: deque[tuple[Node, Started]] = deque()
        self._failed: dict[int, str] = {}
        self._finish: Progress = Progress(state="proposed")
        self._prepared = self._preparing = self._closing = False
        self._doing = ""
        with self.reading:
            for node in self.tree.pending:  # an earlier run was cut off
                self._enqueue(node)
        self._thread = threading.Thread(target=self._work, name=f"judging {campaign_id}", daemon=True)
        self._thread.start()

    @property
    def tree(self) -> Tree:
        """Read it under `reading`."""
        return self._record.journal.tree

    @property
    def doing(self) -> str:
        """What is being done at the moment, one line."""
        return self._doing

    @property
    def elapsed_s(self) -> float:
        """Time spent on judging; an agent's thinking is not counted."""
        return self._record.journal.elapsed_s

    @property
    def spent(self) -> str | None:
        """Why no more can be proposed; None while there is budget."""
        return stop_reason(self.tree, self._record.journal.settings, self.elapsed_s)

    @property
    def broken(self) -> bool:
        """Nothing can be recorded any more, as after a failure of the store: open the campaign again."""
        return self._record.journal.shut or not self._thread.is_alive()

    @property
    def busy(self) -> bool:
        """Whether anything is being judged or waits for it."""
        with self.reading:
            return bool(self._queue or self._started) or self._finish.state in ("queued", "running")

    @property
    def reading(self) -> threading.Condition:
        """Held while the tree is read: it does not change meanwhile."""
        return self._changed

    def ask(self, move: Move | None) -> Written:
        """A question and its brief; without a move the campaign's policy chooses one. Raises ClosedError when the
        search is over, SpentError when its budget is, and UsageError for a parent that is not judged yet."""
        with self.reading:
            self._searching()
            number = max(self.tree.asks, default=0) + 1
            settings = self._record.journal.settings
            for step in move.parents if move else ():
                if self.tree.node(step).pending:
                    raise UsageError(f"step {step} is not judged yet; wait for its job, or name other parents")
            chosen = move or self._policy.ask(self.tree, policy_rng(settings.seed, number), 1)[0]
            return self._record.asked(chosen, number)

    def propose(self, candidate: Candidate, *, move: Move, ask: int | None) -> Node:
        """Record a candidate. The repeat of a judged one has its verdict at once and costs no judging."""
        with self.reading:
            self._searching()
            step = self._record.proposed(candidate, move=move, ask=ask)
            self._settle_repeats()
            return self.tree.node(step)

    def evaluate(self, step: int) -> Progress:
        """Ask for a verdict; asked again, nothing is done twice. Raises SpentError when the time is spent."""
        with self.reading:
            node = self.tree.node(step)
            if node.pending and self.progress(step).state in ("proposed", "failed"):
                self._searching(of_proposed=True)
                self._enqueue(node)
            return self.progress(step)

    def progress(self, step: int) -> Progress:
        with self.reading:
            node = self.tree.node(step)
            if not node.pending:
                return Progress(state="done")
            first = (original(self._record.journal, node) or node).step
            if any(first == other.step for other, _ in self._started):
                return Progress(state="running", text=self._doing)
            if self._preparing and self._queue and first == self._queue[0]:
                return Progress(state="running", text=self._doing)
            if first in self._queue:
                ahead = self._queue.index(first) + len(self._started)
                text = f"{ahead} before it; {self._doing}".rstrip("; ")
                return Progress(state="queued", text=text, n_before=ahead)
            if first in self._failed:
                return Progress(state="failed", text=self._failed[first])
            return Progress(state="proposed")

    def finish(self) -> Progress:
        """End the search: what is queued is judged, finalists are measured again, one is put to the sealed shapes."""
        with self.reading:
            if self._finish.state in ("proposed", "failed"):
                self._finish = Progress(state="queued")
                self._changed.notify_all()
            return self._finish

    @property
    def finish_progress(self) -> Progress:
        with self.reading:
            running = self._finish.state == "running"
            return Progress(state="running", text=self._doing) if running else self._finish

    def insight(self, text: str, steps: tuple[int, ...], author: str) -> int:
        with self.reading:
            for step in steps:
                self.tree.node(step)
            return self._record.insight(text, steps, author)

    def wait(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Until `done`, looked at whenever something changes, or for `timeout_s`."""
        with self._changed:
            self._changed.wait_for(done, timeout_s)

    def close(self) -> None:
        """Nothing new is begun. What is being judged stays pending and is judged when the campaign is opened again."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """After `close`, and after the farm was closed. A verdict that comes later still is not recorded."""
        self._thread.join(timeout_s)
        self._record.journal.shut_down("the campaign was given back")

    def _said(self, text: str) -> None:
        self._doing = text

    def _searching(self, *, of_proposed: bool = False) -> None:
        tree = self.tree
        if tree.closed is not None or tree.confirmed or tree.sealed or self._finish.state in ("queued", "running"):
            raise ClosedError("the search of this campaign is over: see `finish` for its result, or open another")
        used, most = self.elapsed_s, self._record.journal.settings.max_seconds
        spent = (f"{most:g} s of judging spent" if used >= most else None) if of_proposed else self.spent
        if spent is not None:
            raise SpentError(f"{spent}; call finish: the best candidates are measured again and proved")

    def _enqueue(self, node: Node) -> None:
        """Of a repeat the original is judged."""
        first = (original(self._record.journal, node) or node).step
        if first not in self._queue and all(first != other.step for other, _ in self._started):
            self._failed.pop(first, None)
            self._queue.append(first)
            self._changed.notify_all()

    def _work(self) -> None:
        failure = "the judging thread has ended; open the campaign again"
        try:
            while self._next():
                try:
                    self._advance()
                except KernelEvolveError as error:
                    self._give_up(str(error))
            failure = "the campaign was closed meanwhile"
        finally:
            self._give_up(failure)

    def _next(self) -> bool:
        """Waits for something to do; False at the end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closing or self._queue or self._started or self._finish.state == "queued"
            )
            return not self._closing

    def _give_up(self, why: str) -> None:
        with self._changed:
            waiting = [*self._queue, *(node.step for node, _ in self._started)]
            self._failed.update(dict.fromkeys(waiting, why))
            self._queue.clear()
            self._started.clear()
            if self._finish.state in ("queued", "running"):
                self._finish = Progress(state="failed", text=why)
            self._doing = ""
            self._changed.notify_all()

    def _advance(self) -> None:
        with self._changed:
            wanted = bool(self._queue or self._started)
        if not wanted:
            return self._finish_now()
        if not self._prepared:
            self._prepare()
        with self._record.counted():
            self._start_some()
            if self._started:
                self._judge_oldest()
        return None

    def _prepare(self) -> None:
        """The first verdict waits for this, and its progress says so."""
        self._preparing = True
        try:
            self._judging.prepare()
        finally:
            self._preparing = False
        self._prepared = True

    def _start_some(self) -> None:
        while self._queue and len(self._started) < self._n_at_once:
            with self._changed:
                if self.elapsed_s >= self._record.journal.settings.max_seconds:
                    self._failed.update(dict.fromkeys(self._queue, "all judging time is spent"))
                    self._queue.clear()
                    self._changed.notify_all()
                    return
                node = self.tree.node(self._queue[0])
            started = self._judging.start(node.candidate, "screen")
            with self._changed:
                self._started.append((node, started))
                self._queue.popleft()

    def _judge_oldest(self) -> None:
        node, started = self._started[0]
        self._said(f"judging step {node.step}")
        verdict = self._judging.verdict(started)
        events = judgement(self._record.journal, node, verdict, self._explain)
        with self._changed:
            self._record.journal.record(*events)
            self._started.popleft()
            self._settle_repeats()
            self._doing = ""
            self._changed.notify_all()

    def _settle_repeats(self) -> None:
        for node in self.tree.pending:
            repeat(self._record.journal, node)
        self._changed.notify_all()

    def _finish_now(self) -> None:
        with self._changed:
            stopped = self.spent or ENDED
            self._finish = Progress(state="running")
            self._record.close_asks()
        with self._record.counted():
            closed: Closed = finish(self._record.journal, self._judging, stopped=stopped)
        with self._changed:
            self._finish = Progress(state="done", text=closed.reason)
            self._doing = ""
            self._changed.notify_all()
