"""Reads what a command handed in. Everything in its folder is hostile: links, devices, names, sizes, encodings."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from kernelevolve.errors import RecordError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import MAX_BYTES, MAX_FILES, Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.model.value import Value, explain
from kernelevolve.proposers.command.unified import apply_patch
from kernelevolve.toolchains import TOOLCHAINS

DESCRIPTION, PATCH, USAGE = "candidate.toml", "proposal.patch", "usage.toml"
MAX_DEPTH = 8
T = TypeVar("T", bound=Value)


class Description(Value):
    """`candidate.toml`. What is not said is as in the parent."""

    language: str = ""
    flags: tuple[str, ...] | None = None
    intent: str = Field(default="", max_length=2000)
    recipe: str = Field(default="", max_length=200, description="name of the technique")


class Used(Value):
    """`usage.toml`: what the run took, where the command knows."""

    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    usd: float | None = Field(default=None, ge=0)


def read_used(files: dict[str, str]) -> Used | None:
    """Raises RecordError."""
    return _parsed(Used, files[USAGE], USAGE) if USAGE in files else None


def read_candidates(files: dict[str, str], brief: Brief, *, proposer: str) -> tuple[Candidate, ...]:
    """One candidate from the folder itself, or one from each folder in it that has a candidate.toml or a
    proposal.patch, in the order of their names. Raises RecordError for anything unclear."""
    files = {path: text for path, text in files.items() if path != USAGE}
    if not files:
        raise RecordError(f"nothing was handed in: {DESCRIPTION} with source files, or {PATCH}, is expected")
    if DESCRIPTION in files or PATCH in files:
        return (_candidate(files, brief, proposer),)
    groups: dict[str, dict[str, str]] = {}
    for path, text in files.items():
        top, _, rest = path.partition("/")
        groups.setdefault(top, {})[rest] = text
    if not all(DESCRIPTION in group or PATCH in group for group in groups.values()):
        raise RecordError(
            f"neither {DESCRIPTION} nor {PATCH} beside what was handed in: {', '.join(sorted(files)[:5])}"
        )
    found = [_candidate(groups[top], brief, proposer) for top in sorted(groups)]
    unique = {candidate.id: candidate for candidate in found}
    return tuple(unique.values())[: brief.n_wanted]


def read_folder(folder: Path) -> dict[str, str]:
    """Relative path -> text of every file below. Raises RecordError for a link, a device, anything else that is no
    plain file of text, and for too much of it. No link is followed, nothing is opened that could block."""
    found: dict[str, str] = {}
    root = _open(folder.name, os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY), folder.name, os.O_DIRECTORY)
    _walk(root, "", found, depth=0)
    return found


def _walk(handle: int, prefix: str, found: dict[str, str], *, depth: int) -> None:
    """Closes `handle`."""
    try:
        if depth > MAX_DEPTH:
            raise RecordError(f"{prefix}: more than {MAX_DEPTH} folders deep")
        for name in sorted(os.listdir(handle)):  # noqa: PTH208 - of an open folder, which no path can be swapped for
            path = prefix + name
            kind = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
            if stat.S_ISDIR(kind):
                inner = _open(name, os.dup(handle), path, os.O_DIRECTORY)
                _walk(inner, f"{path}/", found, depth=depth + 1)
            elif stat.S_ISREG(kind):
                found[path] = _read(_open(name, os.dup(handle), path), path, sum(map(len, found.values())))
            else:
                raise RecordError(f"{path}: a link, device or socket; only plain files are taken")
            if len(found) > MAX_FILES:
                raise RecordError(f"more than {MAX_FILES} files were handed in")
    finally:
        os.close(handle)


def _open(name: str, parent: int, path: str, more: int = 0) -> int:
    """Closes `parent`."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | more, dir_fd=parent)
    except OSError as error:
        is_link = error.errno in (errno.ELOOP, errno.ENOTDIR)
        raise RecordError(f"{path}: {'a link is not followed' if is_link else error.strerror}") from error
    finally:
        os.close(parent)


def _read(handle: int, path: str, n_before: int) -> str:
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise RecordError(f"{path}: no plain file")
        data = file.read(MAX_BYTES + 1)
    if n_before + len(data) > MAX_BYTES:
        raise RecordError(f"{path}: more than {MAX_BYTES} bytes were handed in")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: not UTF-8 text") from error
    if "\0" in text:
        raise RecordError(f"{path}: not text: it holds a zero byte")
    return text


def _candidate(files: dict[str, str], brief: Brief, proposer: str) -> Candidate:
    description = _parsed(Description, files.get(DESCRIPTION, ""), DESCRIPTION)
    parent = brief.parents[0].candidate if brief.parents else None
    sources = {path: text for path, text in files.items() if path not in (DESCRIPTION, PATCH)}
    if PATCH in files:
        if parent is None:
            raise RecordError(f"{PATCH}: there is no parent to apply it to; hand in whole files")
        if sources:
            raise RecordError(f"{PATCH} and whole files were handed in; which of them counts is unclear")
        sources = apply_patch({file.path: file.text for file in parent.files}, files[PATCH])
    language = description.language or (parent.language if parent else "")
    if language not in TOOLCHAINS:
        raise RecordError(f"{DESCRIPTION}: language '{language}' is unknown; known: {', '.join(TOOLCHAINS)}")
    same = parent.flags if parent and parent.language == language else ()
    try:
        return Candidate(
            language=language,
            files=tuple(SourceFile(path=path, text=text) for path, text in _in_order(sources, parent)),
            flags=same if description.flags is None else description.flags,
            origin=Origin(
                proposer=proposer, recipe=description.recipe,
                intent=" ".join(description.intent.split()) or "no intent was given",
            ),
        )  # fmt: skip
    except ValidationError as error:
        raise RecordError(f"what was handed in is no candidate: {explain(error)}") from error


def _in_order(sources: dict[str, str], parent: Candidate | None) -> Sequence[tuple[str, str]]:
    """As in the parent, new ones after them by name: an edit does not change the order of files."""
    known = [file.path for file in parent.files] if parent else []
    return sorted(sources.items(), key=lambda item: (known.index(item[0]) if item[0] in known else len(known), item[0]))


def _parsed(kind: type[T], text: str, name: str) -> T:
    try:
        return kind.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RecordError(f"{name}: not TOML: {error}") from error
    except ValidationError as error:
        raise RecordError(f"{name}: {explain(error)}") from error
