"""What an attempt changed in its parent, as a sentence and as a short diff. Bounded work, however large the sources."""

from __future__ import annotations

import difflib

from kernelevolve.model.candidate import Candidate

MAX_DIFF_LINES = 24
MAX_COMPARED = 300
"""Lines of either side, without the common start and end; comparing takes the square of it."""
MAX_CHARACTERS = 4000


def change_of(candidate: Candidate, parent: Candidate | None) -> str:
    """The proposer's own words; where there are none, what differs."""
    if candidate.origin.intent:
        return candidate.origin.intent
    if parent is None:
        return "a new kernel"
    if parent.language != candidate.language:
        return f"written again in {candidate.language}"
    names = [file.path for file in candidate.files if file not in parent.files]
    names += [file.path for file in parent.files if file.path not in {other.path for other in candidate.files}]
    if names:
        return f"changed {', '.join(names)}"
    return f"flags {' '.join(candidate.flags) or 'none'}" if candidate.flags != parent.flags else "nothing"


def short_diff(candidate: Candidate, parent: Candidate | None) -> str:
    """Unified, without context; empty for a new kernel, for another language and where it would be long."""
    if parent is None or parent.language != candidate.language:
        return ""
    old = {file.path: file.text for file in parent.files}
    new = {file.path: file.text for file in candidate.files}
    lines: list[str] = []
    for path in dict.fromkeys((*new, *old)):
        if old.get(path) == new.get(path):
            continue
        found = _file_diff(old.get(path, ""), new.get(path, ""))
        if found is None:
            return ""
        lines += [f"--- {path}", *found]
        if len(lines) > MAX_DIFF_LINES:
            return ""
    if parent.flags != candidate.flags:
        lines += [f"-flags {' '.join(parent.flags)}", f"+flags {' '.join(candidate.flags)}"]
    text = "\n".join(lines)
    return text if len(text) <= MAX_CHARACTERS else ""


def _file_diff(old: str, new: str) -> list[str] | None:
    """None where it is too long."""
    before, after = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(before), len(after)) > MAX_COMPARED:
        return None
    diff = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
    return [line for line in diff if not line.startswith("@@")]
