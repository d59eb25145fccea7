"""Which part of a large tree is shown: the lineage of the leader and the best nodes with their ancestors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelevolve.interfaces.record import Record

WHOLE = 2000
"""Trees up to this size are shown whole."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """`kept` is closed under first parents, so it is a tree too. `hidden`: nodes left out somewhere below a kept one,
    each counted at its nearest kept ancestor (0: the reference)."""

    kept: frozenset[int]
    hidden: dict[int, int]

    @property
    def n_hidden(self) -> int:
        return sum(self.hidden.values())


def window_of(record: Record, spine: Iterable[int], n_shown: int) -> Window:
    """About `n_shown` nodes; all of them in a tree of at most `WHOLE`. Linear in the nodes, whatever their depth."""
    if len(record.rows) <= WHOLE:
        return Window(kept=frozenset(record.rows), hidden={})
    kept = set(spine)
    best = sorted(
        (row for row in record.rows.values() if row.correct), key=lambda row: (-(row.speedup or 0.0), row.step)
    )
    for row in best:
        if len(kept) >= n_shown:
            break
        step: int | None = row.step
        while step is not None and step in record.rows and step not in kept:
            kept.add(step)
            step = record.rows[step].parent
    return Window(kept=frozenset(kept), hidden=_hidden(record, kept))


def _hidden(record: Record, kept: set[int]) -> dict[int, int]:
    nearest: dict[int, int] = {}
    hidden: dict[int, int] = {}
    for step in sorted(record.rows):  # a parent comes before its children
        parent = record.rows[step].parent or 0
        above = parent if parent in kept else nearest.get(parent, 0)
        if step not in kept:
            nearest[step] = above
            hidden[above] = hidden.get(above, 0) + 1
    return hidden
