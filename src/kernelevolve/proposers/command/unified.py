"""Applies a unified diff (what `git diff` and `diff -u` print) to several files: all of it, or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelevolve.errors import RecordError

NOTHING = "/dev/null"
NO_NEWLINE = "\\ No newline at end of file"
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(kw_only=True)
class Hunk:
    """`start`: where `old` stands, from 0. Lines carry their line ends."""

    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Change:
    before: str
    after: str
    hunks: list[Hunk] = field(default_factory=list)


def apply_patch(files: Mapping[str, str], patch: str) -> dict[str, str]:
    """The files after the patch. Raises RecordError, which names the file and the line, when any part does not fit."""
    changes = _parse(patch)
    if not changes:
        raise RecordError("the patch changes nothing: no line starts with '--- ' and is followed by '+++ '")
    result = dict(files)
    for change in changes:
        if change.before == NOTHING:
            if change.after in result:
                raise RecordError(f"patch: {change.after} is to be made and is there already")
            text = ""
        elif change.before in result:
            text = result.pop(change.before)
        else:
            raise RecordError(f"patch: there is no file {change.before}; there are: {', '.join(sorted(result))}")
        text = _patched(text, change)
        if change.after != NOTHING:
            result[change.after] = text
        elif text:
            raise RecordError(f"patch: {change.before} is to be deleted and the patch leaves some of it")
    return result


def _patched(text: str, change: Change) -> str:
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    shift = 0
    for hunk in change.hunks:
        at = _place(lines, hunk, hunk.start + shift, change.before)
        lines[at : at + len(hunk.old)] = hunk.new
        shift = at - hunk.start + len(hunk.new) - len(hunk.old)
    return "".join(lines)


def _place(lines: list[str], hunk: Hunk, expected: int, path: str) -> int:
    """Where it says it is, else the only place where it fits exactly."""
    n = len(hunk.old)
    if lines[expected : expected + n] == hunk.old and 0 <= expected <= len(lines):
        return expected
    places = [at for at in range(len(lines) - n + 1) if lines[at : at + n] == hunk.old] if n else []
    if len(places) != 1:
        found = "nowhere" if not places else f"in {len(places)} places"
        raise RecordError(f"patch: {path}: the lines of the hunk at line {hunk.start + 1} are found {found}")
    return places[0]


def _parse(patch: str) -> list[Change]:
    changes: list[Change] = []
    lines = patch.removesuffix("\n").split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        if line.startswith("--- ") and position + 1 < len(lines) and lines[position + 1].startswith("+++ "):
            changes.append(Change(before=_path(line), after=_path(lines[position + 1])))
            position += 2
        elif line.startswith("@@") and changes:
            hunk, position = _hunk(lines, position)
            changes[-1].hunks.append(hunk)
        elif line.startswith(("rename ", "copy ", "GIT binary patch", "Binary files ")):
            raise RecordError(f"patch, line {position + 1}: only changes of text are taken, no {line.split()[0]}")
        else:
            position += 1
    return changes


def _hunk(lines: list[str], position: int) -> tuple[Hunk, int]:
    match = _HUNK.match(lines[position])
    if match is None:
        raise RecordError(f"patch, line {position + 1}: '{lines[position][:60]}' is no head of a hunk")
    n_old, n_new = int(match[2] or 1), int(match[4] or 1)
    hunk = Hunk(start=int(match[1]) - (1 if n_old else 0))
    position += 1
    while len(hunk.old) < n_old or len(hunk.new) < n_new or lines[position : position + 1] == [NO_NEWLINE]:
        if position >= len(lines):
            raise RecordError("patch: its last hunk ends early")
        mark, text = lines[position][:1], lines[position][1:] + "\n"
        if lines[position] == NO_NEWLINE:
            _cut_line_end(hunk, lines[position - 1][:1])
        elif mark in ("", " ", "-", "+"):
            hunk.old += [text] if mark in ("", " ", "-") else []
            hunk.new += [text] if mark in ("", " ", "+") else []
        else:
            raise RecordError(f"patch, line {position + 1}: starts with '{mark}', not with a space, - or +")
        position += 1
    if len(hunk.old) != n_old or len(hunk.new) != n_new:
        raise RecordError(f"patch, line {position}: the hunk has not as many lines as its head says")
    return hunk, position


def _cut_line_end(hunk: Hunk, mark: str) -> None:
    for side, marks in ((hunk.old, ("", " ", "-")), (hunk.new, ("", " ", "+"))):
        if mark in marks and side:
            side[-1] = side[-1].removesuffix("\n")


def _path(line: str) -> str:
    """Without the a/ and b/ of git, and without a date after a tab."""
    path = line[4:].split("\t")[0].strip()
    return path if path == NOTHING else re.sub(r"^[ab]/", "", path)
