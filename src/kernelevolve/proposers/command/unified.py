"""The patch a command handed in, as `git diff` and `diff -u` print it: all of it fits, or nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping

from kernelevolve.errors import RecordError
from kernelevolve.model.unified_diff import DiffError, Fault, Rules, apply_diff

RULES = Rules(line_ends=True, prose=True, exact=True)
WORDS = {
    Fault.EMPTY: "the patch changes nothing: no line starts with '--- ' and is followed by '+++ '",
    Fault.NOT_TEXT: "patch, line {line}: only changes of text are taken, no {word}",
    Fault.HEAD: "patch, line {line}: '{text}' is no head of a hunk",
    Fault.ENDS_EARLY: "patch: its last hunk ends early",
    Fault.MARK: "patch, line {line}: starts with '{mark}', not with a space, - or +",
    Fault.COUNTS: "patch, line {line}: the hunk has not as many lines as its head says",
    Fault.ABSENT: "patch: there is no file {path}; there are: {known}",
    Fault.PRESENT: "patch: {path} is to be made and is there already",
    Fault.LEFT_OVER: "patch: {path} is to be deleted and the patch leaves some of it",
    Fault.NOWHERE: "patch: {path}: the lines of the hunk at line {line} are found nowhere",
    Fault.AMBIGUOUS: "patch: {path}: the lines of the hunk at line {line} are found in {n_places} places",
}


def apply_patch(files: Mapping[str, str], patch: str) -> dict[str, str]:
    """The files after the patch. Raises RecordError, which names the file and the line, when any part does not fit."""
    try:
        return apply_diff(files, patch, RULES)
    except DiffError as error:
        raise RecordError(error.said(WORDS)) from error
