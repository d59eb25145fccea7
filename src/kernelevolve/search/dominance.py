"""Dominance among points of several objectives, where more is better."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float, ...]


def dominates(left: Point, right: Point) -> bool:
    """At least as good everywhere, and better somewhere."""
    return left != right and all(a >= b for a, b in zip(left, right, strict=True))


def depths(points: Sequence[Point]) -> list[int]:
    """0 for points that nothing dominates, 1 for those that only such points dominate, and so on.

    Points are placed from the highest down, so that none can be dominated by a later one; if something in a front
    dominates a point, then something in every earlier front does, so the front is found by bisection. With two
    objectives the last point of a front is the one that decides: O(n log n); with more, a front is searched."""
    order = sorted(range(len(points)), key=lambda index: points[index], reverse=True)
    fronts: list[list[Point]] = []
    found = [0] * len(points)
    for index in order:
        point = points[index]
        low, high = 0, len(fronts)
        while low < high:
            middle = (low + high) // 2
            front = fronts[middle]
            tried = front[-1:] if len(point) <= 2 else front
            if any(dominates(other, point) for other in tried):
                low = middle + 1
            else:
                high = middle
        if low == len(fronts):
            fronts.append([])
        fronts[low].append(point)
        found[index] = low
    return found
