"""A file of recorded proposals: a header, then one proposal per line, all JSON.

    {"replay": 1, "task": "map_id", "entry": "map_id", "platform": "cpu", "campaign": "map_id-e6c7e5", ...}
    {"step": 1, "candidate": {...}, "move": {"operator": "draft", ...}, "recorded": {"outcome": "correct", ...}}

Without a header, and with bare candidates on its lines, it is a list made elsewhere. What was recorded of a verdict is
there to be read by people: a replay judges everything again. It has no times of single shapes, for those would tell
shapes that a search keeps hidden.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from kernelevolve.errors import RecordError, UsageError
from kernelevolve.model.brief import Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import Outcome


class Header(Value):
    replay: Literal[1] = 1
    task: str
    task_id: str
    entry: str
    platform: str = Field(description="kind of platform: cpu, cuda")
    machine: str = Field(default="", description="where the recorded verdicts come from")
    campaign: str
    proposer: str
    policy: str
    opened: str = Field(description="UTC, ISO 8601")
    winner: int | None = Field(default=None, description="step of the kernel that the campaign ended with")


class Recorded(Value):
    """What the judge found then. Speed-ups are against the better baseline, over the search shapes."""

    outcome: Outcome
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    same_as: int | None = Field(default=None, description="an earlier step with the same candidate")


class Entry(Value):
    """`recorded` None: it was never judged."""

    candidate: Candidate
    step: int | None = None
    move: Move | None = None
    recorded: Recorded | None = None


@dataclass(frozen=True, kw_only=True)
class Replay:
    header: Header | None
    entries: tuple[Entry, ...]


def read_replay(path: Path) -> Replay:
    """Raises UsageError when the file cannot be read, RecordError with the number of the first line that is neither
    a proposal nor, as the first one, a header."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    header: Header | None = None
    entries: list[Entry] = []
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines: JSON may hold other line ends in its strings
        if not line.strip():
            continue
        try:
            if header is None and not entries and _has_key(line, "replay"):
                header = Header.from_json(line)
            elif _has_key(line, "candidate"):
                entries.append(Entry.from_json(line))
            else:
                entries.append(Entry(candidate=Candidate.from_json(line)))
        except RecordError as error:
            raise RecordError(f"{path}:{number}: {error}") from error
    return Replay(header=header, entries=tuple(entries))


def replay_text(header: Header, entries: Iterable[Entry]) -> str:
    return "".join(value.to_json() + "\n" for value in (header, *entries))


def _has_key(line: str, key: str) -> bool:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and key in data
