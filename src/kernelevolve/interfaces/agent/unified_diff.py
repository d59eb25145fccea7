"""A unified diff applied to a set of files. Strict: every line of context must be there, once; all of it or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelevolve.errors import UsageError

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOISE = ("diff --git", "index ", "new file mode", "deleted file mode", "old mode", "new mode", "similarity index")
DEV_NULL = "/dev/null"


@dataclass(kw_only=True)
class _Hunk:
    line: int  # where the old text is said to start, from 1
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class _FileDiff:
    old: str
    new: str
    hunks: list[_Hunk] = field(default_factory=list)


def apply_diff(files: Mapping[str, str], diff: str) -> dict[str, str]:
    """`files` after `diff`. Raises UsageError that names the file and hunk which does not fit."""
    changed = dict(files)
    parsed = _parse(diff.replace("\r\n", "\n").split("\n"))
    if not parsed:
        raise UsageError("the patch holds no change: a unified diff has '--- a/FILE', '+++ b/FILE' and '@@' lines")
    for each in parsed:
        if each.old != DEV_NULL and each.old not in files:
            raise UsageError(f"the patch changes {each.old}, the parent has {', '.join(files) or 'no files'}")
        text = changed.pop(each.old, "") if each.old != DEV_NULL else ""
        lines = text.split("\n")
        shift = 0
        for number, hunk in enumerate(each.hunks, 1):
            lines, shift = _applied(lines, hunk, shift, f"{each.new}, hunk {number}")
        if each.new != DEV_NULL:
            changed[each.new] = "\n".join(lines)
    return changed


def _parse(lines: list[str]) -> list[_FileDiff]:
    found: list[_FileDiff] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            found.append(_FileDiff(old=_name(line), new=_name(lines[at + 1])))
            at += 2
        elif (head := _HUNK.match(line)) and found:
            hunk, at = _hunk(lines, at + 1, head)
            found[-1].hunks.append(hunk)
        elif line.strip() and not line.startswith(_NOISE) and not line.startswith("\\"):
            raise UsageError(f"line {at + 1} of the patch is no part of a unified diff: {line[:80]!r}")
        else:
            at += 1
    return found


def _hunk(lines: list[str], at: int, head: re.Match[str]) -> tuple[_Hunk, int]:
    hunk = _Hunk(line=int(head[1]))
    n_before, n_after = int(head[2] or 1), int(head[4] or 1)
    while len(hunk.before) < n_before or len(hunk.after) < n_after:
        line = lines[at] if at < len(lines) else None
        if line is None or line[:1] not in ("", " ", "+", "-", "\\"):
            raise UsageError(f"the hunk {head[0]!r} ends early: its line counts do not fit its lines")
        if line[:1] in ("", " ", "-"):
            hunk.before.append(line[1:])
        if line[:1] in ("", " ", "+"):
            hunk.after.append(line[1:])
        at += 1
    return hunk, at


def _name(line: str) -> str:
    name = line[4:].split("\t")[0].strip().strip('"')
    return name[2:] if name.startswith(("a/", "b/")) else name


def _applied(lines: list[str], hunk: _Hunk, shift: int, where: str) -> tuple[list[str], int]:
    """Where it is said to be, else at the only place where it fits."""
    size = len(hunk.before)
    said = max(0, hunk.line - 1 + shift) if size else min(hunk.line + shift, len(lines))
    if lines[said : said + size] != hunk.before:
        fits = [at for at in range(len(lines) - size + 1) if lines[at : at + size] == hunk.before]
        if len(fits) != 1:
            raise UsageError(f"{where}: its lines are at {len(fits)} places in the file; make the diff again")
        said = fits[0]
    return [*lines[:said], *hunk.after, *lines[said + size :]], shift + len(hunk.after) - size
