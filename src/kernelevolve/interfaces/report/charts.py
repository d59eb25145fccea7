"""Geometry of the charts. Numbers only: the template draws, so that escaping stays in one place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kernelevolve.interfaces.record import Record, Row
from kernelevolve.interfaces.wording import baseline_title, interval, microseconds, shape_text, times
from kernelevolve.model.verdict import Timing

WIDTH, HEIGHT = 540.0, 250.0
NO_FAILURE = ("correct", "duplicate", "pending")
MOST_DOTS = 2000
LEFT, RIGHT, TOP, BOTTOM = 46.0, 14.0, 14.0, 46.0


@dataclass(frozen=True, kw_only=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A correct candidate in a progress chart."""

    x: float
    y: float
    step: int
    text: str
    won: bool


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Best so far: the stepped line as an SVG path, every timed candidate as a dot, failures as ticks below."""

    title: str
    path: str
    dots: list[Dot]
    failures: list[float]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    parity_y: float
    end_x: float
    end_y: float
    end_label: str
    width: float = WIDTH
    height: float = HEIGHT


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A speed-up with its interval; x positions are in per cent of the panel."""

    baseline: str
    title: str
    index: int
    value: str
    interval: str
    width: float
    low: float
    high: float
    latency: str


@dataclass(frozen=True, kw_only=True)
class BarGroup:
    shape: str
    latency: str
    floor: str
    bars: list[Bar]


@dataclass(frozen=True, kw_only=True)
class Bars:
    level: str
    title: str
    note: str
    groups: list[BarGroup]
    ticks: list[Tick]
    parity: float
    speedup: str
    interval: str


def progress(record: Record, *, by: str) -> Progress | None:
    """`by` is "candidates" or "time". None when nothing was timed."""
    curve = record.best_so_far()
    timed = [row for row, _ in curve if row.correct and row.speedup]
    if not timed:
        return None
    position: Callable[[Row], float] = (
        (lambda row: float(row.step)) if by == "candidates" else (lambda row: row.elapsed_s)
    )
    high_x = max(position(row) for row, _ in curve) or 1.0
    speeds = [row.speedup or 1.0 for row in timed]
    low, high = min(*speeds, 1.0), max(*speeds, 1.0)
    low = max(low, high / 200)  # one hopeless candidate must not flatten the curve
    x_values = [value for value in _round_ticks(high_x) if by == "time" or value % 1 == 0]  # no half candidates
    place_x = _linear(0.0, high_x, LEFT, WIDTH - RIGHT)
    place_y = _log(low / 1.15, high * 1.2, HEIGHT - BOTTOM, TOP)
    points = [(place_x(position(row)), place_y(best)) for row, best in curve]
    return Progress(
        title="by candidates" if by == "candidates" else "by search time",
        path=_stepped(points, (place_x(0.0), place_y(1.0))),
        dots=[
            _dot(record, row, place_x(position(row)), place_y(max(row.speedup or 1.0, low)))
            for row in _thinned(record, timed)
        ],
        failures=_apart([place_x(position(row)) for row, _ in curve if row.status not in NO_FAILURE]),
        x_ticks=[Tick(at=place_x(value), label=_amount(value, by)) for value in x_values],
        y_ticks=[Tick(at=place_y(value), label=f"{value:g}×") for value in log_ticks(low / 1.15, high * 1.2)],
        parity_y=place_y(1.0), end_x=points[-1][0], end_y=points[-1][1], end_label=times(curve[-1][1]),
    )  # fmt: skip


def bars(timing: Timing, *, title: str, note: str) -> Bars:
    """Per shape and baseline, on one linear scale from 0."""
    found = [comparison for shape in timing.shapes for comparison in shape.comparisons]
    names = list(dict.fromkeys(comparison.baseline for comparison in found))
    top = max([*(comparison.high for comparison in found), 1.0]) * 1.04
    groups = []
    for shape in timing.shapes:
        rows = [
            Bar(
                baseline=comparison.baseline, title=baseline_title(comparison.baseline),
                index=names.index(comparison.baseline) % 4, value=times(comparison.speedup),
                interval=interval(comparison.low, comparison.high), width=100 * comparison.speedup / top,
                low=100 * comparison.low / top, high=100 * comparison.high / top,
                latency=microseconds(comparison.baseline_us),
            )
            for comparison in shape.comparisons
        ]  # fmt: skip
        floor = f"memory floor {microseconds(shape.floor_us)}" if shape.floor_us else ""
        groups.append(
            BarGroup(shape=shape_text(shape.shape), latency=microseconds(shape.latency_us), floor=floor, bars=rows)
        )
    ticks = [Tick(at=100 * value / top, label=f"{value:g}×") for value in _round_ticks(top)]
    return Bars(
        level=timing.level, title=title, note=note, groups=groups, ticks=ticks, parity=100 / top,
        speedup=times(timing.speedup), interval=interval(timing.low, timing.high),
    )  # fmt: skip


def log_ticks(low: float, high: float) -> list[float]:
    """Three to seven round values within low..high."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tuple(1 + tenth / 10 for tenth in range(90))):
        found = [round(step * 10.0**decade, 6) for decade in decades for step in steps]
        found = [value for value in found if low <= value <= high]
        if len(found) >= 3:
            return found if len(found) <= 9 else found[:: -(-len(found) // 7)]
    return [1.0]


def _thinned(record: Record, timed: list[Row]) -> list[Row]:
    """At most about `MOST_DOTS`, evenly over the search, with every one that set a record and the winner."""
    every = -(-len(timed) // MOST_DOTS)
    best, kept = 0.0, []
    for index, row in enumerate(timed):
        if index % every == 0 or (row.speedup or 0.0) > best or row is record.winner:
            kept.append(row)
        best = max(best, row.speedup or 0.0)
    return kept


def _apart(places: list[float]) -> list[float]:
    """Ticks of which no two would be drawn at the same place; all of them when they are few."""
    if len(places) <= MOST_DOTS:
        return [round(place, 1) for place in places]
    return sorted({round(2 * place) / 2 for place in places})


def _dot(record: Record, row: Row, x: float, y: float) -> Dot:
    won = record.winner is not None and record.winner.step == row.step
    return Dot(
        x=round(x, 1), y=round(y, 1), step=row.step, text=f"step {row.step}: {times(row.speedup or 1.0)}", won=won
    )


def _stepped(points: list[tuple[float, float]], start: tuple[float, float]) -> str:
    """Horizontal, then vertical: the best holds until it is beaten."""
    parts, y = [f"M{start[0]:.1f} {start[1]:.1f}"], start[1]
    for x, new_y in points:
        if new_y != y:
            parts.append(f"H{x:.1f}V{new_y:.1f}")
            y = new_y
    parts.append(f"H{points[-1][0]:.1f}")
    return "".join(parts)


def _round_ticks(high: float) -> list[float]:
    """0 and round values up to `high`, four to eight of them."""
    raw = high / 5
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    return [round(step * index, 9) for index in range(int(high / step) + 1)]


def _amount(value: float, by: str) -> str:
    return f"{value:g}" if by == "candidates" else f"{value:g} s"


def _linear(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (end - start) * (value - low) / ((high - low) or 1.0)


def _log(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    scale = _linear(math.log(low), math.log(high), start, end)
    return lambda value: scale(math.log(max(value, 1e-9)))
