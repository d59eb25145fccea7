"""The whole loop. This is the only file that knows all the parts:

    Tree --ask--> Move --brief--> propose --> Candidate --job--> Farm --> Verdict --explain--> Diagnosis
      ^                                                                                            |
      +------------------------------- fold ------- Store <------- record -------------------------+

The way back is through the store alone. So a campaign that was killed at any moment and resumed goes on as if nothing
had happened: what was asked is answered, what was proposed is judged, what was judged is never judged again, what was
paid for is never paid for twice.

There are no rounds. A question is asked whenever there is room for what it brings; a candidate is handed in whenever
the farm has room; a verdict is recorded when it is there. Neither side waits for the other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from kernelevolve.campaign.bench import Bench
from kernelevolve.campaign.budget import Clock
from kernelevolve.campaign.finish import finish
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.judgement import Explain
from kernelevolve.campaign.judging import Judging
from kernelevolve.campaign.ledger import EventLedger
from kernelevolve.campaign.listeners import Listener
from kernelevolve.campaign.proposing import POLL_S, Proposing
from kernelevolve.campaign.questions import n_at_once
from kernelevolve.campaign.stopping import NOTHING_LEFT, stop_reason, time_spent
from kernelevolve.farm.base import Farm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Closed
from kernelevolve.proposers.base import Proposer
from kernelevolve.search.base import Policy
from kernelevolve.store.base import Store

__all__ = ["Explain", "run_campaign", "run_journal"]


def run_campaign(
    *,
    store: Store,
    campaign_id: str,
    proposer: Proposer,
    policy: Policy,
    farm: Farm,
    listeners: Sequence[Listener] = (),
    clock: Clock = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    explain: Explain | None = None,
    winners: Sequence[Candidate] = (),
) -> Closed:
    """Run a new campaign, or an unfinished one further, to its end. Returns the stored end of a finished one.

    `winners` are candidates from elsewhere that some drafts may begin with. Raises MachineError when the machine keeps
    failing and ProposerError when the proposer cannot serve the task; either way, and after a kill, the same call goes
    on later. The caller closes `farm`.
    """
    journal = Journal(store=store, campaign_id=campaign_id, listeners=listeners, clock=clock)
    return run_journal(
        journal, proposer=proposer, policy=policy, farm=farm, sleep=sleep, explain=explain, winners=winners
    )


def run_journal(
    journal: Journal,
    *,
    proposer: Proposer,
    policy: Policy,
    farm: Farm,
    sleep: Callable[[float], None] = time.sleep,
    explain: Explain | None = None,
    winners: Sequence[Candidate] = (),
) -> Closed:
    """`run_campaign` for a journal that is open already, as a proposer that pays needs it: its ledger writes there.
    Afterwards nothing can be recorded in it."""
    if journal.tree.closed is not None:
        return journal.tree.closed
    judging = Judging(farm=farm, journal=journal)
    done = threading.Event()
    try:
        EventLedger(journal).lose("the process ended before the call was settled")
        if not journal.tree.confirmed and journal.tree.sealed is None:
            judging.prepare()
            proposing = Proposing(
                journal=journal, proposer=proposer, policy=policy, winners=winners, sleep=sleep, done=done
            )
            in_order, n = not proposing.many, n_at_once(journal)
            bench = Bench(journal=journal, judging=judging, explain=explain, n=n, in_order=in_order, done=done)
            _search(journal, bench, proposing, done)
        stopped = stop_reason(journal.tree, journal.settings, journal.elapsed_s) or NOTHING_LEFT
        return finish(journal, judging, stopped=stopped)
    finally:
        journal.shut_down("the run has ended")


def _search(journal: Journal, bench: Bench, proposing: Proposing, done: threading.Event) -> None:
    """Until there is nothing in work and nothing more to ask. When the time is spent nobody waits for an answer any
    more; what was proposed until then is judged."""
    while True:
        bench.fill()
        with journal.lock:
            state = journal.tree, journal.settings, journal.elapsed_s
            stopped, late = stop_reason(*state), time_spent(*state)
        if late is not None:
            proposing.abandon(late)
        elif proposing.ask(new=stopped is None):
            continue
        if not bench.busy and not proposing.waiting:
            proposing.raise_failure()
            return
        if proposing.many:
            done.wait(POLL_S)
            done.clear()
            proposing.collect()
        bench.collect()
