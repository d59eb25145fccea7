"""What is recorded about a judged candidate, and about one that repeats an earlier one. The same for every driver."""

from __future__ import annotations

from collections.abc import Callable

from kernelevolve.campaign.journal import Journal
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.events import Diagnosed, Event, Judged, Opened
from kernelevolve.model.verdict import Verdict
from kernelevolve.search.tree import Node

Explain = Callable[[Verdict, Opened, Candidate], Diagnosis | None]
"""Why a candidate is as fast as it is. Pure; asked about correct candidates only."""


def judgement(journal: Journal, node: Node, verdict: Verdict, explain: Explain | None) -> list[Event]:
    events: list[Event] = [Judged(step=node.step, verdict=verdict, elapsed_s=journal.elapsed_s)]
    why = explain(verdict, journal.opened, node.candidate) if explain is not None and verdict.correct else None
    return [*events, Diagnosed(step=node.step, diagnosis=why)] if why is not None else events


def original(journal: Journal, node: Node) -> Node | None:
    """The earlier node with the same candidate, comments and layout aside: it is not judged a second time."""
    first = journal.tree.first_of(node.normal_id)
    return first if first is not None and first.step < node.step else None


def repeat(journal: Journal, node: Node) -> bool:
    """Give a repeat its original's verdict. False: it is none, or the original is not judged yet."""
    first = original(journal, node)
    if first is None or first.verdict is None:
        return False
    elapsed_s = journal.elapsed_s
    journal.record(Judged(step=node.step, verdict=first.verdict, elapsed_s=elapsed_s, same_as=first.step))
    return True
