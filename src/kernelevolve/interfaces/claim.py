"""The claim of a campaign: what may be said about its best kernel, and on which evidence."""

from __future__ import annotations

from dataclasses import dataclass

from kernelevolve.interfaces.record import Record, Row, baseline_names
from kernelevolve.interfaces.wording import baseline_title, interval, mean_speedup, times
from kernelevolve.model.verdict import Timing, Verdict

LEVELS = {
    "sealed": "on the sealed shapes", "confirm": "when measured again", "screen": "in the search", "none": "",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Claim:
    """`level` names the strongest evidence there is. Only a closed campaign with a winner claims a speed-up;
    `low_bound` is the lower bound of the strongest evidence, winner or not."""

    row: Row | None
    won: bool
    running: bool
    level: str
    timing: Timing | None
    n_checks: int
    isolation: tuple[str, ...]
    lane: str
    disturbed: float
    low_bound: float | None
    headline: str
    detail: str


def claim_of(record: Record) -> Claim:
    row = record.leader
    verdict = _strongest(row) if row else None
    timing = verdict.timing if verdict else None
    won = record.winner is not None
    headline, detail = _words(record, timing, won)
    shown = (row.verdict, row.confirmed, row.sealed) if row else ()
    return Claim(
        row=row, won=won, running=record.closed is None, timing=timing,
        level=timing.level if timing else "none",
        n_checks=sum(found.n_checks for found in shown if found),
        isolation=verdict.isolation if verdict else (),
        lane=verdict.lane if verdict else "",
        disturbed=verdict.disturbed if verdict else 0.0, low_bound=record.summary.low, headline=headline, detail=detail,
    )  # fmt: skip


def _strongest(row: Row) -> Verdict | None:
    return next((found for found in (row.sealed, row.confirmed, row.verdict) if found and found.timing), None)


def _words(record: Record, timing: Timing | None, won: bool) -> tuple[str, str]:
    name = record.opened.task.name
    if record.closed is None:
        best = f"best so far {times(timing.speedup)}" if timing else "nothing correct and timed yet"
        return (
            f"{name}: search not finished, {best}",
            "A search measurement is not a claim; resume the campaign for one.",
        )
    if not won or timing is None:
        low = record.summary.low
        found = f"best lower bound {times(low)} {LEVELS[record.summary.level]}" if low else "nothing correct was found"
        return f"{name}: no improvement found, the reference stays", f"{found}; {record.closed.reason}."
    where = {
        "sealed": f"{len(timing.shapes)} shapes kept sealed until the end",
        "confirm": f"{len(timing.shapes)} of the search's own shapes",
    }.get(timing.level, "few pairs")
    if record.opened.task.fixed_size:
        where = "the task's one size, in fresh processes on new content"
    titles = [baseline_title(baseline) for baseline in baseline_names(timing)]
    against = f"the faster of {' and '.join(titles)}" if len(titles) > 1 else titles[0] if titles else "the baseline"
    found = f"{100 * (1 - timing.alpha):.3g} % interval {interval(timing.low, timing.high)}"
    detail = f"as {against}, {found}, measured on {where}."
    return f"{name}: {times(timing.speedup)} as fast", detail


def baseline_means(timing: Timing) -> list[tuple[str, float]]:
    """(baseline, geometric mean of the speed-up over shapes), the hardest first."""
    return sorted(((name, mean_speedup(timing, name)) for name in baseline_names(timing)), key=lambda pair: pair[1])
