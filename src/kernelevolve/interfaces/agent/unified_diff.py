"""The patch of an agent. Strict: every line of context must be there, once, and between the hunks stands no prose."""

from __future__ import annotations

from collections.abc import Mapping

from kernelevolve.errors import UsageError
from kernelevolve.model import unified_diff
from kernelevolve.model.unified_diff import DiffError, Fault, Rules

RULES = Rules(line_ends=False, prose=False, exact=False)
_NO_PART = "line {line} of the patch is no part of a unified diff: {text!r}"
_COUNTS = "the hunk {head!r} ends early: its line counts do not fit its lines"
_PLACES = "{path}, hunk {number}: its lines are at {n_places} places in the file; make the diff again"
WORDS = {
    Fault.EMPTY: "the patch holds no change: a unified diff has '--- a/FILE', '+++ b/FILE' and '@@' lines",
    Fault.ABSENT: "the patch changes {path}, the parent has {known}",
    **dict.fromkeys((Fault.NOT_A_DIFF, Fault.NOT_TEXT, Fault.HEAD), _NO_PART),
    **dict.fromkeys((Fault.ENDS_EARLY, Fault.MARK), _COUNTS),
    **dict.fromkeys((Fault.NOWHERE, Fault.AMBIGUOUS), _PLACES),
}


def apply_diff(files: Mapping[str, str], diff: str) -> dict[str, str]:
    """`files` after `diff`, whatever its line ends are. Raises UsageError that names the hunk which does not fit."""
    try:
        # A blank last line counts: agents drop the space of empty context.
        return unified_diff.apply_diff(files, diff.replace("\r\n", "\n") + "\n", RULES)
    except DiffError as error:
        raise UsageError(error.said(WORDS)) from error
