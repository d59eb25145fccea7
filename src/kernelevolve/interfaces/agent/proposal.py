"""A candidate from what an agent handed in. It is hostile text until the judge has seen it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from pydantic import ValidationError

from kernelevolve.errors import UnknownNameError, UsageError
from kernelevolve.interfaces.agent.unified_diff import apply_diff
from kernelevolve.interfaces.agent.verbs import Edit, Propose
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin, oversize
from kernelevolve.model.task import SourceFile
from kernelevolve.model.value import explain
from kernelevolve.toolchains import SOURCES, languages_for

DEFAULT_LANGUAGE = {"cpu": "cpp", "cuda": "cuda", "fake": "fake"}
BY_PARENTS = (Operator.DRAFT, Operator.MUTATE, Operator.CROSS)


def move_of(parents: tuple[int, ...], *, asked: Move | None = None) -> Move:
    """The move an agent made: the one it was asked for, unless it started from other parents."""
    if asked is not None and asked.parents == parents:
        return asked
    return Move(operator=BY_PARENTS[len(parents)], parents=parents, reason="the agent's choice")


def read_proposal(given: Propose, *, platform: str, parent: Candidate | None) -> Candidate:
    """Raises UsageError; the message says what to change."""
    ways = [name for name in ("files", "edits", "patch") if getattr(given, name)]
    only_flags = not ways and given.flags is not None and parent is not None
    if len(ways) != 1 and not only_flags:
        told = " and ".join(ways) or "none of them"
        raise UsageError(f"give one of files, edits and patch, or parents with other flags; there was {told}")
    files = given.files if given.files else _changed(given, parent)
    language = given.language or (parent.language if parent else _language_of(files, platform))
    if language not in languages_for(platform):
        raise UnknownNameError(f"language on platform {platform}", language, languages_for(platform))
    _check_size(files)
    flags = given.flags if given.flags is not None else parent.flags if parent and not given.files else ()
    try:
        return Candidate(
            language=language, flags=flags, origin=Origin(proposer="agent", intent=given.intent),
            files=tuple(SourceFile(path=path, text=text) for path, text in files.items()),
        )  # fmt: skip
    except ValidationError as error:
        raise UsageError(f"not a candidate: {explain(error)}") from error


def _language_of(files: Mapping[str, str], platform: str) -> str:
    """Files in .py alone are a Python module: device code in .py has a plan beside it, and has to be named."""
    told = {SOURCES.get(PurePosixPath(path).suffix) for path in files}
    return "python" if told == {"python"} and "python" in languages_for(platform) else DEFAULT_LANGUAGE[platform]


def _changed(given: Propose, parent: Candidate | None) -> dict[str, str]:
    if parent is None:
        raise UsageError(
            "edits and patch need a parent to change: give parents (or an ask that has one), or whole files"
        )
    before = {file.path: file.text for file in parent.files}
    if given.patch:
        return apply_diff(before, given.patch)
    return _edited(before, given.edits)  # without edits: other flags for the same files


def _edited(files: dict[str, str], edits: tuple[Edit, ...]) -> dict[str, str]:
    """In the order given; all or none."""
    for number, edit in enumerate(edits, 1):
        text = files.get(edit.file)
        if text is None:
            raise UsageError(f"edit {number}: the parent has no file {edit.file!r}; it has {', '.join(files)}")
        places = text.count(edit.search)
        if places != 1:
            hint = "quote it exactly as it is" if not places else "quote more of the lines around it"
            raise UsageError(f"edit {number}: its search text stands at {places} places in {edit.file}; {hint}")
        files[edit.file] = text.replace(edit.search, edit.replace)
    return files


def _check_size(files: Mapping[str, str]) -> None:
    if fault := oversize(files):
        raise UsageError(fault)
    for path, text in files.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{path} is not text: {error.reason} at character {error.start}") from error
