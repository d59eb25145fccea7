"""Parts: the pieces a written brief is put together from. A part is shown whole, or cut by its own rule, or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelevolve.model.brief import Attempt
from kernelevolve.model.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class Part:
    """`id` is stable: the same piece of context has it in every brief of a campaign. `shorten`, where a part has it,
    gives a shorter text of at most so many estimated tokens, which says that it is cut; None: it makes no sense so
    short."""

    id: str
    text: str
    shorten: Callable[[int], str | None] | None = None


def effect(attempt: Attempt) -> str:
    """ "correct, 1.52x, was 1.40x: +8.6 %"; "wrong"."""
    if attempt.outcome is not Outcome.CORRECT or attempt.speedup is None:
        return attempt.outcome.value.replace("_", " ")
    said = f"correct, {_times(attempt.speedup)}"
    if not attempt.parent_speedup:
        return said
    change = 100 * (attempt.speedup / attempt.parent_speedup - 1)
    return f"{said}, was {_times(attempt.parent_speedup)}: {change:+.1f} %"


def _times(speedup: float) -> str:
    return f"{speedup:.3g}x" if speedup < 1000 else f"{speedup:.0f}x"
