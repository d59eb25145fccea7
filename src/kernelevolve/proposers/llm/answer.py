"""What a model writes, read strictly: a few words of description, then fenced blocks that name their file.

    language: cpp
    intent: one sentence
    flags: -O3 -ffast-math

    ``` file: kernel.cpp
    the whole file
    ```
    ``` edit: other.h
    SEARCH/REPLACE edits, see patch.py
    ```
    ``` delete: old.h
    ```

A fence is three or more backticks or tildes; a block ends at a line of the same character, at least as many. What is
not in such a block is prose and means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from kernelevolve.proposers.llm.base import AnswerError
from kernelevolve.proposers.llm.patch import Edit, join_lines, parse_edits, render_edits, split_lines

MAX_BYTES = 1 << 20
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`]*?)\s*")
_INFO = re.compile(r"(?:[A-Za-z0-9+#_.-]+[ \t]+)?(file|edit|delete):[ \t]*(\S.*)")
_FIELD = re.compile(r"(language|intent|flags):[ \t]*(.*?)\s*", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
Kind = Literal["file", "edit", "delete"]


@dataclass(frozen=True, kw_only=True)
class Block:
    """About one file: its whole text, edits, or that it goes."""

    kind: Kind
    path: str
    text: str = ""
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answer:
    blocks: tuple[Block, ...]
    language: str = ""
    intent: str = ""
    flags: tuple[str, ...] | None = field(default=None)
    """None: not mentioned. Empty: none wanted."""


def parse_answer(text: str) -> Answer:
    """Raises AnswerError for an answer that is empty, has no block, or stops within one; PatchError for edits that
    cannot be read."""
    if len(text) > MAX_BYTES:
        raise AnswerError(f"the answer is longer than {MAX_BYTES} characters")
    lines = split_lines(_THINKING.sub("", text))
    if not any(line.strip() for line in lines):
        raise AnswerError("the answer is empty")
    blocks: list[Block] = []
    fields: dict[str, str] = {}
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        if fence is None:
            if (found := _FIELD.fullmatch(lines[at])) is not None:
                fields.setdefault(found[1].lower(), found[2])
            at += 1
            continue
        end = _end(lines, at, fence[1])
        info = _INFO.fullmatch(fence[2])
        if end is None and info is not None:
            raise AnswerError(f"the block of {info[2][:80]} is not closed: the answer seems cut off")
        if info is not None:
            blocks.append(_block(info[1], info[2], lines[at + 1 : end]))
        at = len(lines) if end is None else end + 1
    return _answer(blocks, fields)


def render_answer(answer: Answer) -> str:
    """The text that `parse_answer` reads back to an equal answer. Whole texts end in a line end or are empty."""
    out = [f"language: {answer.language}"] if answer.language else []
    out += [f"intent: {answer.intent}"] if answer.intent else []
    out += [] if answer.flags is None else [f"flags: {' '.join(answer.flags)}"]
    for block in answer.blocks:
        body = split_lines(render_edits(block.edits) if block.kind == "edit" else block.text)
        fence = "`" * (1 + max([2, *(len(found[1]) for line in body if (found := _FENCE.match(line)))]))
        out += ["", f"{fence} {block.kind}: {block.path}", *body, fence]
    return join_lines(out)


def one_line(text: str, *, longest: int = 300) -> str:
    """Fit for a table: one line, no control characters."""
    flat = _CONTROL.sub(" ", text).strip()
    return flat if len(flat) <= longest else f"{flat[: longest - 3]}..."


def _end(lines: list[str], start: int, fence: str) -> int | None:
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*")
    return next((at for at in range(start + 1, len(lines)) if closing.fullmatch(lines[at])), None)


def _block(kind: str, path: str, lines: list[str]) -> Block:
    path = path.strip().strip("`'\"")
    if kind == "file":
        return Block(kind="file", path=path, text=join_lines(lines))
    if kind == "edit":
        return Block(kind="edit", path=path, edits=parse_edits(lines, path=path))
    return Block(kind="delete", path=path)


def _answer(blocks: Iterable[Block], fields: dict[str, str]) -> Answer:
    blocks = tuple(blocks)
    if not blocks:
        raise AnswerError("no file in the answer: write each as a fenced block that begins with ``` file: NAME")
    paths = [block.path for block in blocks]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise AnswerError(f"two blocks for {twice[0]}: put all of a file's edits into one block")
    flags = fields.get("flags")
    return Answer(
        blocks=blocks,
        language=one_line(fields.get("language", "")).lower(),
        intent=one_line(fields.get("intent", "")),
        flags=None if flags is None else tuple(flags.split()),
    )
