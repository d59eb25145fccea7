"""The figure of the comparison, as SVG. Nothing but text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from search_statistics import Interval

COLOURS = ("#8a8f98", "#1f5fbf", "#c4621b", "#1e8a5a", "#a03a8c", "#b3202c", "#5c4a1e")
INK, PALE = "#222a35", "#d9dee5"
FONT = "font-family='DejaVu Sans, Helvetica, Arial, sans-serif'"


@dataclass(frozen=True, kw_only=True)
class Box:
    x: float
    y: float
    width: float
    height: float


def text(
    x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", colour: str = INK, bold: bool = False
) -> str:
    weight = " font-weight='bold'" if bold else ""
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'"
    return f"<text {place} font-size='{size}' fill='{colour}'{weight}>{words}</text>"


def line(x1: float, y1: float, x2: float, y2: float, *, colour: str = PALE, width: float = 1.0) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' stroke-width='{width}'/>"


def curves(box: Box, title: str, named: Mapping[str, Sequence[float]], *, low: float) -> list[str]:
    """Mean ln(leader / best known) after each candidate, drawn as a share of the best known, from `low` to 1."""
    n = max(len(points) for points in named.values())
    floor = math.log(low)

    def x_of(step: int) -> float:
        return box.x + box.width * (step - 1) / (n - 1)

    def y_of(score: float) -> float:
        return box.y + box.height * (max(score, floor) / floor)

    parts = [text(box.x, box.y - 14, title, size=14, bold=True)]
    for share in [s / 10 for s in range(math.ceil(low * 10), 11)]:
        y = y_of(math.log(share))
        parts += [line(box.x, y, box.x + box.width, y), text(box.x - 6, y + 4, f"{share:.0%}", size=11, anchor="end")]
    for step in (1, 8, 16, 24, 32):
        parts.append(text(x_of(step), box.y + box.height + 17, str(step), size=11, anchor="middle"))
    parts.append(text(box.x + box.width / 2, box.y + box.height + 34, "candidates judged", size=11, anchor="middle"))
    for points, colour in zip(named.values(), COLOURS, strict=False):
        path = " ".join(f"{x_of(k):.1f},{y_of(score):.1f}" for k, score in enumerate(points, 1))
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
    for place, (name, colour) in enumerate(zip(named, COLOURS, strict=False)):
        y = box.y + box.height - 14 - 16 * (len(named) - 1 - place)
        x = box.x + box.width - 110
        parts += [line(x, y - 4, x + 18, y - 4, colour=colour, width=2.5), text(x + 24, y, name, size=11)]
    return parts


def dots(box: Box, title: str, named: Mapping[str, Interval], *, reach: float) -> list[str]:
    """Differences to the reference in per cent, from -`reach` to `reach` (ln), one line each."""
    middle = box.x + box.width / 2

    def x_of(value: float) -> float:
        return middle + box.width / 2 * max(-1.0, min(1.0, value / reach))

    parts = [text(box.x - 110, box.y - 14, title, size=14, bold=True)]
    height = box.height / max(1, len(named))
    for mark in (-reach, -reach / 2, 0.0, reach / 2, reach):
        parts.append(line(x_of(mark), box.y, x_of(mark), box.y + box.height, colour=INK if mark == 0 else PALE))
        parts.append(
            text(x_of(mark), box.y + box.height + 17, f"{100 * mark:+.0f} %" if mark else "0", size=11, anchor="middle")
        )
    for place, (name, found) in enumerate(named.items()):
        y = box.y + height * (place + 0.5)
        colour = COLOURS[1] if found.clear else COLOURS[0]
        parts += [
            text(box.x - 10, y + 4, name, anchor="end"),
            line(x_of(found.low), y, x_of(found.high), y, colour=colour, width=2.5),
            f"<circle cx='{x_of(found.mean):.1f}' cy='{y:.1f}' r='4.5' fill='{colour}'/>",
        ]
    return parts


def page(width: int, height: int, parts: Sequence[str]) -> str:
    size = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {FONT}>"
    return "\n".join([head, f"<rect width='{width}' height='{height}' fill='white'/>", *parts, "</svg>"]) + "\n"
