"""The whole loop. This is the only file that knows all the parts:

    Tree --ask--> Move --brief--> propose --> Candidate --job--> Farm --> Verdict --explain--> Diagnosis
      ^                                                                                            |
      +------------------------------- fold ------- Store <------- record -------------------------+

The way back is through the store alone. So a campaign that was killed at any moment and resumed goes on as if nothing
had happened: what was proposed is judged, what was judged is never judged again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kernelevolve.campaign.budget import Clock
from kernelevolve.campaign.finish import finish
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.judging import Judging
from kernelevolve.campaign.listeners import Listener
from kernelevolve.campaign.proposing import Proposing
from kernelevolve.campaign.stopping import NOTHING_LEFT, stop_reason
from kernelevolve.farm.base import Farm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.events import Closed, Diagnosed, Event, Judged, Opened
from kernelevolve.model.verdict import Verdict
from kernelevolve.proposers.base import Proposer
from kernelevolve.search.base import Policy
from kernelevolve.search.tree import Node
from kernelevolve.store.base import Store

Explain = Callable[[Verdict, Opened, Candidate], Diagnosis | None]
"""Why a candidate is as fast as it is. Pure; asked about correct candidates only."""


def run_campaign(
    *,
    store: Store,
    campaign_id: str,
    proposer: Proposer,
    policy: Policy,
    farm: Farm,
    listeners: Sequence[Listener] = (),
    clock: Clock = time.monotonic,
    explain: Explain | None = None,
) -> Closed:
    """Run a new campaign, or an unfinished one further, to its end. Returns the stored end of a finished one.

    Raises MachineError when the machine keeps failing and ProposerError when the proposer cannot serve the task;
    either way, and after a kill, the same call goes on later. The caller closes `farm`.
    """
    journal = Journal(store=store, campaign_id=campaign_id, listeners=listeners, clock=clock)
    if journal.tree.closed is not None:
        return journal.tree.closed
    judging = Judging(farm=farm, journal=journal)
    searching = not journal.tree.confirmed and journal.tree.sealed is None
    if searching:
        judging.prepare()
        _judge_pending(journal, judging, explain)
        _search(journal, judging, Proposing(journal=journal, proposer=proposer, policy=policy), explain)
    stopped = stop_reason(journal.tree, journal.settings, journal.elapsed_s) or NOTHING_LEFT
    return finish(journal, judging, stopped=stopped)


def _search(journal: Journal, judging: Judging, proposing: Proposing, explain: Explain | None) -> None:
    """A batch is asked for when everything before it is judged."""
    while stop_reason(journal.tree, journal.settings, journal.elapsed_s) is None:
        batch = proposing.next_batch()
        if not batch:
            return
        journal.record(*batch)
        _judge_pending(journal, judging, explain)


def _judge_pending(journal: Journal, judging: Judging, explain: Explain | None) -> None:
    """All jobs are handed in before the first verdict is awaited; verdicts are recorded in the order of steps."""
    pending = journal.tree.pending
    new = [node for node in pending if _original(journal, node) is None]
    started = {node.step: judging.start(node.candidate, "screen") for node in new}
    for node in pending:
        original = _original(journal, node)
        if original is not None:
            assert original.verdict is not None
            same_as, verdict = original.step, original.verdict
            journal.record(Judged(step=node.step, verdict=verdict, elapsed_s=journal.elapsed_s, same_as=same_as))
            continue
        journal.say(f"judging step {node.step}")
        verdict = judging.verdict(started[node.step])
        journal.record(*_judgement(journal, node, verdict, explain))


def _original(journal: Journal, node: Node) -> Node | None:
    """The earlier node with the same candidate: it is not judged a second time."""
    first = journal.tree.first_of(node.candidate_id)
    return first if first is not None and first.step < node.step else None


def _judgement(journal: Journal, node: Node, verdict: Verdict, explain: Explain | None) -> list[Event]:
    events: list[Event] = [Judged(step=node.step, verdict=verdict, elapsed_s=journal.elapsed_s)]
    diagnosis = explain(verdict, journal.opened, node.candidate) if explain is not None and verdict.correct else None
    if diagnosis is not None:
        events.append(Diagnosed(step=node.step, diagnosis=diagnosis))
    return events
