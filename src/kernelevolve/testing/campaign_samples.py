"""Whole small campaigns as lists of events, for tests of what keeps and shows them."""

from __future__ import annotations

from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Closed, Confirmed, Diagnosed, Event, Sealed
from kernelevolve.model.verdict import Outcome
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_proposed, sample_verdict


def whole_campaign() -> list[Event]:
    """One event of each kind but `opened`."""
    verdict = sample_verdict(sample_candidate(1))
    return [
        sample_proposed(1),
        sample_proposed(2, move=Move(operator=Operator.MUTATE, parents=(1,), reason='é "quoted" \n line')),
        sample_judged(1, speedup=2.0),
        Diagnosed(step=1, diagnosis=Diagnosis(bottleneck=Bottleneck.MEMORY)),
        sample_judged(2, outcome=Outcome.WRONG),
        Confirmed(step=1, verdict=verdict, elapsed_s=3.0),
        Sealed(step=1, verdict=verdict, elapsed_s=4.0),
        Closed(winner=1, reason="done", elapsed_s=5.0),
    ]


def small_tree() -> list[Event]:
    """1 and 2 are drafts; 3, 4 and 5 come from 1, 6 from 4 and 2; 5 failed, 6 is not judged."""

    def child(step: int, *parents: int) -> Event:
        operator = Operator.CROSS if len(parents) > 1 else Operator.MUTATE
        return sample_proposed(step, move=Move(operator=operator, parents=parents))

    return [
        sample_proposed(1), sample_judged(1, speedup=1.5),
        sample_proposed(2), sample_judged(2, speedup=2.5),
        child(3, 1), child(4, 1), child(5, 1), sample_judged(4, speedup=3.0), sample_judged(3, speedup=2.0),
        child(6, 4, 2), sample_judged(5, outcome=Outcome.WRONG),
    ]  # fmt: skip
