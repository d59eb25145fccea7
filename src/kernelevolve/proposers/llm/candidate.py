"""From an answer and the kernel it starts from to a candidate: names checked, all edits applied or none."""

from __future__ import annotations

import re
from importlib import import_module
from typing import cast

from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate, Origin, oversize
from kernelevolve.model.launch import FILE_NAME as PLAN
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers.llm.answer import Answer, Block
from kernelevolve.proposers.llm.base import AnswerError, PatchError
from kernelevolve.proposers.llm.patch import apply_edits
from kernelevolve.toolchains import TOOLCHAINS, languages_for, runs_on

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


def candidate_from(answer: Answer, *, brief: Brief, origin: Origin) -> Candidate:
    """Blocks of whole files alone are the whole candidate. With an edit or a deletion among them, the files of the
    current kernel (the first parent) are what they change. Raises AnswerError, PatchError: nothing is half applied."""
    base = brief.parents[0].candidate if brief.parents else None
    files: dict[str, str] = {}
    changes = any(block.kind != "file" for block in answer.blocks)
    if changes:
        if base is None:
            raise PatchError("there is no current kernel to change: write whole files (``` file: NAME)")
        files = {file.path: file.text for file in base.files}
    for block in answer.blocks:
        _change(files, block)
    language = _language(answer, brief, base.language if base is not None and changes else "", tuple(files))
    _check_names(tuple(files), language)
    if fault := oversize(files):
        raise AnswerError(fault)
    flags = answer.flags if answer.flags is not None else base.flags if base is not None and changes else ()
    return Candidate(
        language=language,
        files=tuple(SourceFile(path=path, text=_text(path, text)) for path, text in files.items()),
        flags=flags,
        origin=origin,
    )


def suffixes_of(language: str) -> tuple[str, ...]:
    """What a file of this language may end in."""
    module, _, name = TOOLCHAINS[language].partition(":")
    return cast(tuple[str, ...], getattr(import_module(module), name).suffixes)


def _change(files: dict[str, str], block: Block) -> None:
    if block.kind == "file":
        files[block.path] = block.text
    elif block.path not in files:
        known = ", ".join(files) or "none"
        raise PatchError(f"{block.path}: the current kernel has no such file; it has {known}", path=block.path)
    elif block.kind == "delete":
        del files[block.path]
    else:
        files[block.path] = apply_edits(files[block.path], block.edits, path=block.path)


def _language(answer: Answer, brief: Brief, inherited: str, paths: tuple[str, ...]) -> str:
    platform = brief.task.platform
    allowed = ", ".join(languages_for(platform))
    named = answer.language or inherited
    if named:
        if not runs_on(named, platform):
            raise AnswerError(f"language '{named}' does not run on {platform}; these do: {allowed}")
        return named
    may = [name for name in TOOLCHAINS if runs_on(name, platform)]
    fitting = [name for name in may if paths and all(path.endswith(suffixes_of(name)) for path in paths)]
    if PLAN not in paths and "python" in fitting:
        return "python"  # device code in .py has a plan beside it
    if len(fitting) == 1:
        return fitting[0]
    raise AnswerError(f"the answer has no line 'language: NAME' with one of {allowed}")


def _check_names(paths: tuple[str, ...], language: str) -> None:
    if not paths:
        raise AnswerError("no files are left; a candidate has at least one")
    suffixes = suffixes_of(language)
    for path in paths:
        if len(path) > 120 or not all(_PART.fullmatch(part) for part in path.split("/")):
            raise AnswerError(
                f"'{path[:80]}' cannot be a file of a candidate: letters, digits and _ . + - only, relative, no '..'"
            )
        if not path.endswith(suffixes):
            raise AnswerError(f"{path}: a file of a {language} candidate ends in {' or '.join(suffixes)}")


def _text(path: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AnswerError(f"{path}: holds characters that are no text (half a surrogate pair)") from error
    if "\0" in text:
        raise AnswerError(f"{path}: holds a null character")
    return text
