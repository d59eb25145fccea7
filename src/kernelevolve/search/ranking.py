"""Nodes in order of merit. Everything a policy knows about scores comes from here, as places and ranks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Iterator, Sequence
from itertools import compress, islice
from operator import eq
from typing import Generic, TypeVar

from kernelevolve.search.dominance import Point, depths


class Ranking:
    """By score, of equals the earliest first; with `fronts` by dominance first, which is worked out when it is asked
    for. Flat lists, as tens of thousands of nodes are gone through at every choice."""

    def __init__(self, *, fronts: bool = False) -> None:
        self._lows: list[float] = []  # -score, so that the order is best first
        self._by_score: list[int] = []  # the steps that go with them
        self._points: dict[int, Point] | None = {} if fronts else None
        self._front_of: dict[int, int] = {}
        self._in_fronts: list[tuple[int, float, int]] = []
        self._ranks: list[float] = []

    def __len__(self) -> int:
        return len(self._by_score)

    def add(self, step: int, score: float, point: Point) -> int:
        """Returns how many nodes have a score at least as high."""
        first, last = bisect_left(self._lows, -score), bisect_right(self._lows, -score)
        place = bisect_left(self._by_score, step, first, last)
        self._lows.insert(place, -score)
        self._by_score.insert(place, step)
        self._ranks = []
        if self._points is not None:
            self._points[step] = point
            self._in_fronts = []
        return last

    @property
    def steps(self) -> Sequence[int]:
        """Best first."""
        return self._by_score if self._points is None else [step for _, _, step in self._fronts(self._points)]

    def rank(self, step: int, score: float) -> float:
        """In (0, 1]: the share of nodes that are not better. Equals have equal ranks."""
        if self._points is None:
            better = bisect_left(self._lows, -score)
        else:
            entries = self._fronts(self._points)
            better = bisect_left(entries, (self._front_of.get(step, 0), -score, 0))
        return 1.0 - better / max(1, len(self))

    def ranks(self, n_nodes: int) -> Sequence[float]:
        """By step, up to `n_nodes`; 0 for what is not ranked."""
        if len(self._ranks) != n_nodes + 1:
            self._ranks = [0.0] * (n_nodes + 1)
            if self._points is None:
                self._fill(self._by_score, self._lows)
            else:
                entries = self._fronts(self._points)
                self._fill([step for _, _, step in entries], [(front, low) for front, low, _ in entries])
        return self._ranks

    def _fill(self, steps: Sequence[int], keys: Sequence[object]) -> None:
        ranks, n = self._ranks, len(steps)
        for place, step in enumerate(steps):
            ranks[step] = 1.0 - place / n
        like_the_one_before = compress(range(1, n), map(eq, islice(keys, 1, None), keys))
        for place in like_the_one_before:
            ranks[steps[place]] = ranks[steps[place - 1]]

    def _fronts(self, points: dict[int, Point]) -> list[tuple[int, float, int]]:
        if len(self._in_fronts) < len(points):
            self._front_of = dict(zip(points, depths(list(points.values())), strict=True))
            ordered = zip(self._lows, self._by_score, strict=True)
            self._in_fronts = sorted((self._front_of[step], low, step) for low, step in ordered)
        return self._in_fronts


K = TypeVar("K", bound=Hashable)


class Groups(Generic[K]):
    """Scored steps by a key (a language, a depth, a cell): the best of each at hand, O(log n) per change."""

    def __init__(self) -> None:
        self._of: dict[K, list[tuple[float, int]]] = {}

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[K]:
        """Keys in the order in which they first came up."""
        return iter(self._of)

    def add(self, key: K, score: float, step: int) -> None:
        insort(self._of.setdefault(key, []), (-score, step))

    def remove(self, key: K, score: float, step: int) -> None:
        entries = self._of[key]
        del entries[bisect_left(entries, (-score, step))]
        if not entries:
            del self._of[key]

    def each(self, key: K) -> Iterator[int]:
        """The steps of a key, best first; none for a key that never came up."""
        return (step for _, step in self._of.get(key, ()))

    def top(self, key: K, n: int) -> list[int]:
        return list(islice(self.each(key), n))
