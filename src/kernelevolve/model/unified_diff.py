"""Unified diffs (what `git diff` and `diff -u` print) read and applied to several files: all of it, or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

NOTHING = "/dev/null"
NO_NEWLINE = "\\ No newline at end of file"
_GIT_WORDS = ("diff --git", "index ", "new file mode", "deleted file mode", "old mode", "new mode", "similarity index")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What callers differ in."""

    line_ends: bool  # whether it counts that a last line has no end; else files keep theirs
    prose: bool  # whether lines that are no part of a diff are passed over
    exact: bool  # whether line counts must fit, no file is made over another, a deletion leaves nothing


Fault = Enum(
    "Fault", "EMPTY NOT_A_DIFF NOT_TEXT HEAD ENDS_EARLY MARK COUNTS ABSENT PRESENT LEFT_OVER NOWHERE AMBIGUOUS"
)


class DiffError(Exception):
    """Callers say it in their words: `words` has a format string for every fault that their rules admit."""

    def __init__(self, fault: Fault, **facts: str | int) -> None:
        self.fault = fault
        self.facts = facts
        super().__init__(fault.name, facts)

    def said(self, words: Mapping[Fault, str]) -> str:
        return words[self.fault].format(**self.facts)


@dataclass(kw_only=True)
class _Hunk:
    """`start`: where `old` stands, from 0. Lines carry their line ends."""

    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class _Change:
    before: str
    after: str
    hunks: list[_Hunk] = field(default_factory=list)


def apply_diff(files: Mapping[str, str], diff: str, rules: Rules) -> dict[str, str]:
    """The files after the diff. Raises DiffError when any part does not fit."""
    changes = _parse(diff.removesuffix("\n").split("\n"), rules)
    if not changes:
        raise DiffError(Fault.EMPTY)
    result = dict(files)
    for change in changes:
        if change.before == NOTHING:
            if rules.exact and change.after in result:
                raise DiffError(Fault.PRESENT, path=change.after)
            text = ""
        elif change.before in result:
            text = result.pop(change.before)
        else:
            raise DiffError(Fault.ABSENT, path=change.before, known=", ".join(sorted(result)) or "no files")
        text = _patched(text, change, rules)
        if change.after != NOTHING:
            result[change.after] = text
        elif text and rules.exact:
            raise DiffError(Fault.LEFT_OVER, path=change.before)
    return result


def _patched(text: str, change: _Change, rules: Rules) -> str:
    end = "" if rules.line_ends else "\n"
    lines = re.findall(r"[^\n]*\n|[^\n]+", text + end)
    shift = 0
    for number, hunk in enumerate(change.hunks, 1):
        expected = hunk.start + shift
        places = _places(lines, hunk, expected if rules.exact else min(max(expected, 0), len(lines)))
        if len(places) != 1:
            fault = Fault.AMBIGUOUS if places else Fault.NOWHERE
            path = change.after if change.before == NOTHING else change.before
            raise DiffError(fault, path=path, number=number, line=hunk.start + 1, n_places=len(places))
        at = places[0]
        lines[at : at + len(hunk.old)] = hunk.new
        shift = at - hunk.start + len(hunk.new) - len(hunk.old)
    return "".join(lines).removesuffix(end)


def _places(lines: list[str], hunk: _Hunk, expected: int) -> list[int]:
    """Where it says it is, else wherever it fits exactly."""
    n = len(hunk.old)
    if lines[expected : expected + n] == hunk.old and 0 <= expected <= len(lines):
        return [expected]
    return [at for at in range(len(lines) - n + 1) if lines[at : at + n] == hunk.old] if n else []


def _parse(lines: list[str], rules: Rules) -> list[_Change]:
    changes: list[_Change] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if line.startswith("--- ") and position + 1 < len(lines) and lines[position + 1].startswith("+++ "):
            changes.append(_Change(before=_path(line), after=_path(lines[position + 1])))
            position += 2
        elif line.startswith("@@") and changes:
            hunk, position = _hunk(lines, position, rules)
            changes[-1].hunks.append(hunk)
        elif line.startswith(("rename ", "copy ", "GIT binary patch", "Binary files ")):
            raise DiffError(Fault.NOT_TEXT, line=position + 1, text=line[:80], word=line.split()[0])
        elif rules.prose or not line.strip() or line.startswith((*_GIT_WORDS, "\\")):
            position += 1
        else:
            raise DiffError(Fault.NOT_A_DIFF, line=position + 1, text=line[:80])
    return changes


def _hunk(lines: list[str], position: int, rules: Rules) -> tuple[_Hunk, int]:
    match = _HUNK.match(lines[position])
    if match is None:
        raise DiffError(Fault.HEAD, line=position + 1, text=lines[position][:80])
    n_old, n_new = int(match[2] or 1), int(match[4] or 1)
    hunk = _Hunk(start=int(match[1]))
    touched: list[list[str]] = []  # the sides that the last line is on
    position += 1
    while len(hunk.old) < n_old or len(hunk.new) < n_new or lines[position : position + 1] == [NO_NEWLINE]:
        if position >= len(lines):
            raise DiffError(Fault.ENDS_EARLY, head=match[0])
        mark, text = lines[position][:1] or " ", lines[position][1:] + "\n"
        if rules.line_ends and lines[position] == NO_NEWLINE:
            for side in touched:
                side[-1] = side[-1].removesuffix("\n")
        elif mark in " -+":
            touched = [side for side, marks in ((hunk.old, " -"), (hunk.new, " +")) if mark in marks]
            for side in touched:
                side.append(text)
        elif rules.line_ends or mark != "\\":
            raise DiffError(Fault.MARK, head=match[0], line=position + 1, mark=mark)
        position += 1
    if rules.exact and (len(hunk.old) != n_old or len(hunk.new) != n_new):
        raise DiffError(Fault.COUNTS, head=match[0], line=position)
    hunk.start -= 1 if hunk.old else 0
    return hunk, position


def _path(line: str) -> str:
    """Without the quotes and the a/ and b/ of git, and without a date after a tab."""
    return re.sub(r"^[ab]/", "", line[4:].split("\t")[0].strip().strip('"'))
