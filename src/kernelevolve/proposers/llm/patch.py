"""Search/replace edits: how they are written, and how they are put into a file. All of a file's edits apply, or none.

    <<<<<<< SEARCH
    lines of the file as it is
    =======
    lines to stand there instead
    >>>>>>> REPLACE

Whole lines only. The three markers of an edit have the same number of characters, seven or more, so that lines which
look like a marker can be written: the edit's own markers are then longer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from kernelevolve.proposers.llm.base import PatchError

MIN_MARK = 7
_OPEN = re.compile(r"(<{7,}) SEARCH\s*")
_MARK = re.compile(r"(<+) SEARCH\s*|(=+)\s*|(>+) REPLACE\s*")


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Lines without their line ends."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Lines start..stop of a file, and what stands there instead."""

    start: int
    stop: int
    lines: tuple[str, ...]


def split_lines(text: str) -> list[str]:
    """Only \\n ends a line: other characters that some functions split at may be part of a string in the source."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def parse_edits(lines: Sequence[str], *, path: str) -> tuple[Edit, ...]:
    """Raises PatchError when a marker is missing or nothing is found. Empty lines between edits are fine."""
    edits: list[Edit] = []
    at = 0
    while at < len(lines):
        opened = _OPEN.fullmatch(lines[at])
        if opened is None:
            if lines[at].strip():
                raise PatchError(f"{path}: '{lines[at][:80]}' stands outside of a SEARCH/REPLACE edit", path=path)
            at += 1
            continue
        size = len(opened[1])
        middle = _find(lines, at + 1, re.compile(rf"={{{size}}}\s*"), f"a line of {size} '='", path)
        end = _find(lines, middle + 1, re.compile(rf">{{{size}}} REPLACE\s*"), f"'{'>' * size} REPLACE'", path)
        edits.append(Edit(search=tuple(lines[at + 1 : middle]), replace=tuple(lines[middle + 1 : end])))
        at = end + 1
    if not edits:
        raise PatchError(f"{path}: an edit block without any SEARCH/REPLACE edit", path=path)
    return tuple(edits)


def render_edits(edits: Sequence[Edit]) -> str:
    """The text that `parse_edits` reads back to the same edits, whatever their lines look like."""
    out: list[str] = []
    for edit in edits:
        size = MIN_MARK
        for line in (*edit.search, *edit.replace):
            if (mark := _MARK.fullmatch(line)) is not None:
                size = max(size, 1 + max(len(group) for group in mark.groups() if group))
        out += ["<" * size + " SEARCH", *edit.search, "=" * size, *edit.replace, ">" * size + " REPLACE"]
    return join_lines(out)


def make_edits(before: str, after: str) -> tuple[Edit, ...]:
    """Edits that turn one text into the other, each with as many lines around it as make its place the only one.
    Both texts end in a line end or are empty; `before` has at least one line."""
    old, new = split_lines(before), split_lines(after)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    spans = [(a, b, c, d) for tag, a, b, c, d in blocks if tag != "equal"]
    while True:
        grown = _merged([_grown(span, old, len(new)) for span in spans])
        if grown == spans:
            break
        spans = grown
    return tuple(Edit(search=tuple(old[a:b]), replace=tuple(new[c:d])) for a, b, c, d in spans)


def apply_edits(text: str, edits: Sequence[Edit], *, path: str) -> str:
    """All edits look for their lines in the text as it was, so their order does not matter. Lines are looked for as
    they are, then without regard to spaces, where that fits one place only. Raises PatchError of the kind "model" when
    an edit fits no place, several, or another edit's; of the kind "patcher" when the result is not what was asked."""
    lines = split_lines(text)
    places = sorted((_place(lines, edit, number, path) for number, edit in enumerate(edits, 1)), key=_start)
    for first, second in zip(places, places[1:], strict=False):
        if second.start < first.stop:
            raise PatchError(f"{path}: two edits change line {second.start + 1}", path=path)
    out, at = list[str](), 0
    for place in places:
        out += [*lines[at : place.start], *place.lines]
        at = place.stop
    result = join_lines([*out, *lines[at:]])
    check_taken_back(lines, result, places, path)
    return result


def _start(place: Place) -> int:
    return place.start


def _place(lines: list[str], edit: Edit, number: int, path: str) -> Place:
    if not edit.search and lines:
        raise PatchError(f"{path}: edit {number} has an empty SEARCH part: quote the lines to change", path=path)
    size = len(edit.search)
    exact = [at for at in range(len(lines) - size + 1) if tuple(lines[at : at + size]) == edit.search]
    if len(exact) == 1:
        return Place(start=exact[0], stop=exact[0] + size, lines=edit.replace)
    if exact:
        raise PatchError(
            f"{path}: the SEARCH lines of edit {number} stand at {len(exact)} places (lines "
            f"{', '.join(str(at + 1) for at in exact[:5])}): quote more lines around them", path=path,
        )  # fmt: skip
    wanted = [_loose(line) for line in edit.search]
    loose = [_loose(line) for line in lines]
    found = [at for at in range(len(lines) - size + 1) if loose[at : at + size] == wanted]
    if len(found) != 1:
        what = f"fit {len(found)} places when spaces are left aside" if found else "are not in the file"
        raise PatchError(f"{path}: the SEARCH lines of edit {number} {what}:\n{join_lines(edit.search[:8])}", path=path)
    stop = found[0] + size
    return Place(start=found[0], stop=stop, lines=_shifted(edit, lines[found[0] : stop], number, path))


def _shifted(edit: Edit, found: list[str], number: int, path: str) -> tuple[str, ...]:
    """The replacement, moved by as much as the found lines stand to the right or left of the quoted ones: in Python the
    indent is the program."""
    moves = {(_indent(quoted), _indent(line)) for quoted, line in zip(edit.search, found, strict=True) if line.strip()}
    if all(quoted == line for quoted, line in moves):
        return edit.replace
    added = {line.removesuffix(quoted) for quoted, line in moves if line.endswith(quoted)}
    if len(added) == 1 and len(moves) == sum(line.endswith(quoted) for quoted, line in moves):
        (indent,) = added
        return tuple(indent + line if line.strip() else line for line in edit.replace)
    raise PatchError(f"{path}: the SEARCH lines of edit {number} are indented in another way than the file", path=path)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _loose(line: str) -> str:
    return " ".join(line.split())


def check_taken_back(lines: list[str], result: str, places: Sequence[Place], path: str) -> None:
    """The result with every edit taken back must be the text it began with: else the fault is ours."""
    back = split_lines(result)
    for place in places:  # from the top, so that all above is as it was and places are where they were
        start = place.start
        if tuple(back[start : start + len(place.lines)]) != place.lines:
            raise PatchError(f"{path}: the edits were put in wrongly", kind="patcher", path=path)
        back[start : start + len(place.lines)] = lines[place.start : place.stop]
    if back != lines:
        raise PatchError(f"{path}: the edits changed lines that they do not name", kind="patcher", path=path)


def _find(lines: Sequence[str], start: int, wanted: re.Pattern[str], what: str, path: str) -> int:
    for at in range(start, len(lines)):
        if wanted.fullmatch(lines[at]):
            return at
    raise PatchError(f"{path}: {what} is missing after line {start} of the edits", path=path)


_Span = tuple[int, int, int, int]


def _grown(span: _Span, old: list[str], n_new: int) -> _Span:
    """One line more at both ends while the old lines stand at more than one place."""
    a, b, c, d = span
    size = b - a
    unique = sum(old[at : at + size] == old[a:b] for at in range(len(old) - size + 1)) == 1
    if unique:
        return span
    up, down = int(a > 0), int(b < len(old))
    return (a - up, b + down, c - up, d + down)


def _merged(spans: list[_Span]) -> list[_Span]:
    out: list[_Span] = []
    for a, b, c, d in spans:
        if out and a <= out[-1][1]:
            out[-1] = (out[-1][0], max(b, out[-1][1]), out[-1][2], max(d, out[-1][3]))
        else:
            out.append((a, b, c, d))
    return out
