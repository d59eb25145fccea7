"""What an answer brings into the tree: new candidates of a reasonable size; a repeat only from who insists on it."""

from __future__ import annotations

from collections.abc import Sequence

from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.questions import NOTHING, REPEATS, Question
from kernelevolve.model.candidate import Candidate, oversize
from kernelevolve.model.events import Answered, Event, Proposed
from kernelevolve.model.normal import normal_id


def answer_events(
    journal: Journal, question: Question, offered: Sequence[Candidate], *, message: str, insists: bool,
    items: tuple[str, ...] = (),
) -> list[Event]:  # fmt: skip
    """All that is recorded about an answer, in one piece. `message`: why there is none; `items`: what was shown."""
    offered = offered[: question.asked.n_wanted]
    faults = [fault for candidate in offered if (fault := fault_of(candidate))]
    sound = {normal_id(candidate): candidate for candidate in reversed(offered) if not fault_of(candidate)}
    in_order = dict(reversed(sound.items()))
    new = [candidate for key, candidate in in_order.items() if journal.tree.first_of(key) is None]
    kept = new or (list(in_order.values()) if insists else [])
    now_s = journal.elapsed_s
    asked = question.asked
    proposed = [
        Proposed(step=step, move=asked.move, candidate=candidate, ask=asked.ask, elapsed_s=now_s)
        for step, candidate in enumerate(kept, len(journal.tree) + 1)
    ]
    notes = [message] if message else [] if offered else [NOTHING]
    if len(in_order) > len(kept):
        notes.append(f"{len(in_order) - len(kept)} repeats dropped" if kept else REPEATS)
    message = "; ".join([*notes, *faults])
    return [*proposed, Answered(ask=asked.ask, n_candidates=len(kept), message=message, items=items, elapsed_s=now_s)]


def fault_of(candidate: Candidate) -> str:
    """Why a candidate is not even judged; empty: it is."""
    fault = oversize({file.path: file.text for file in candidate.files}, candidate.flags)
    return f"a candidate was refused: {fault}" if fault else ""
