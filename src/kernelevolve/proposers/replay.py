"""Proposers that repeat what is written in a file: to re-run a search, to judge a list made elsewhere, or to compare
policies on the same proposals."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.errors import ProposerError, UsageError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.proposers.base import Tools
from kernelevolve.proposers.replay_file import Entry, Replay, read_replay


def make(argument: str, tools: Tools) -> ReplayProposer:
    return ReplayProposer(_read(argument, ReplayProposer.name))


def make_tree(argument: str, tools: Tools) -> ReplayTreeProposer:
    return ReplayTreeProposer(_read(argument, ReplayTreeProposer.name))


class ReplayProposer:
    """Offers the file's candidates in order, whatever the move is. Which ones were offered is read off the brief
    (judged ones and those in work), so a resumed campaign goes on where it stopped and several questions at once do
    not get the same; past the end nothing is offered. Raises ProposerError for a file of another task."""

    name = "replay"

    def __init__(self, replay: Replay) -> None:
        self._header = replay.header
        self._entries = replay.entries

    def propose(self, brief: Brief) -> list[Candidate]:
        self._check_task(brief)
        offered = {attempt.candidate.id for attempt in brief.history} | {item.id for item in brief.in_flight}
        left: dict[str, Entry] = {}
        for entry in self._entries:
            if entry.candidate.id not in offered:
                left.setdefault(entry.candidate.id, entry)
        return [entry.candidate for entry in self._in_order(brief, list(left.values()))[: brief.n_wanted]]

    def _in_order(self, brief: Brief, left: list[Entry]) -> list[Entry]:
        return left

    def _check_task(self, brief: Brief) -> None:
        header, task = self._header, brief.task
        if header is None:
            return
        if (header.entry, header.platform) != (task.entry, task.platform):
            raise ProposerError(
                f"the file was recorded for {header.task} on {header.platform}, the task is {task.name} on "
                f"{task.platform}: its candidates cannot be called"
            )


class ReplayTreeProposer(ReplayProposer):
    """Offers what was once made of the parents that the policy picked: first the recorded children of the first
    parent, then of the second, for a draft the recorded drafts; only then the rest in order. So the policy decides
    what is seen early, as it would with a proposer that writes."""

    name = "replay_tree"

    def __init__(self, replay: Replay) -> None:
        super().__init__(replay)
        ids = {entry.step: entry.candidate.id for entry in replay.entries if entry.step is not None}
        self._parents = {
            entry.candidate.id: tuple(ids.get(step, "") for step in entry.move.parents)
            for entry in reversed(replay.entries)
            if entry.move is not None
        }

    def _in_order(self, brief: Brief, left: list[Entry]) -> list[Entry]:
        wanted = [parent.candidate.id for parent in brief.parents]

        def place(entry: Entry) -> int:
            recorded = self._parents.get(entry.candidate.id)
            if recorded is None:
                return len(wanted) + 1
            if not wanted:
                return int(bool(recorded))
            return next((at for at, parent in enumerate(wanted) if parent in recorded), len(wanted) + 1)

        return sorted(left, key=place)  # stable: of equals the earlier


def _read(argument: str, name: str) -> Replay:
    if not argument:
        raise UsageError(f"proposer '{name}' needs a file: {name}:FILE")
    return read_replay(Path(argument))
