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
    """ "correct, 1.52x [1.50, 1.55], was 1.40x [1.38, 1.41]: +8.6 %"; "wrong". Where the intervals overlap the change
    is called not distinguishable: a number would pass noise off as progress."""
    if attempt.outcome is not Outcome.CORRECT or attempt.speedup is None:
        return attempt.outcome.value.replace("_", " ")
    said = f"correct, {_times(attempt.speedup)}{_interval(attempt.interval)}"
    if not attempt.parent_speedup:
        return said
    said += f", was {_times(attempt.parent_speedup)}{_interval(attempt.parent_interval)}"
    if _overlap(attempt.interval, attempt.parent_interval):
        return f"{said}: not distinguishable"
    return f"{said}: {100 * (attempt.speedup / attempt.parent_speedup - 1):+.1f} %"


def busy_text(n_threads: float) -> str:
    """`n_threads`: other runnable threads while something was timed, on average."""
    return (
        f"this machine is busy: {n_threads:.1f} other threads were runnable while this was timed; intervals are wide, "
        "and what looks slow may have waited for a core"
    )


def _overlap(one: tuple[float, float] | None, other: tuple[float, float] | None) -> bool:
    return one is not None and other is not None and one[0] <= other[1] and other[0] <= one[1]


def _interval(found: tuple[float, float] | None) -> str:
    return f" [{_times(found[0])[:-1]}, {_times(found[1])[:-1]}]" if found else ""


def _times(speedup: float) -> str:
    return f"{speedup:.3g}x" if speedup < 1000 else f"{speedup:.0f}x"
