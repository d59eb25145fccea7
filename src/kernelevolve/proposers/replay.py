"""A proposer that repeats what is written in a file: to re-run a search, or to judge a list made elsewhere."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.errors import RecordError, UsageError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.proposers.base import Tools


def make(argument: str, tools: Tools) -> ReplayProposer:
    if not argument:
        raise UsageError("proposer 'replay' needs a file: replay:FILE")
    return ReplayProposer(argument)


class ReplayProposer:
    """One Candidate per line, as JSON, offered in order whatever the move is. The place in the file is the length
    of the history, so a resumed campaign goes on where it stopped; past the end nothing is offered."""

    name = "replay"

    def __init__(self, path: str) -> None:
        self._candidates = _read(Path(path))

    def propose(self, brief: Brief) -> list[Candidate]:
        start = len(brief.history)
        return list(self._candidates[start : start + brief.n_wanted])


def _read(path: Path) -> tuple[Candidate, ...]:
    """Raises UsageError when there is no such file, RecordError with the line number when a line is no Candidate."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    candidates = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            candidates.append(Candidate.from_json(line))
        except RecordError as error:
            raise RecordError(f"{path}:{number}: {error}") from error
    return tuple(candidates)
