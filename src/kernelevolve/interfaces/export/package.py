"""Winners put together: which rule each kernel goes by, and in which order the rules are asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.record import Record, Row
from kernelevolve.model.paths import n_shapes, operator_id
from kernelevolve.model.task import Shape, Task
from kernelevolve.model.verdict import Timing


@dataclass(frozen=True, kw_only=True)
class Winner:
    """One kernel of a package. `key` names its folder and is what `last_served` says."""

    key: str
    record: Record
    row: Row
    rule: dict[str, Any]

    @property
    def task(self) -> Task:
        return self.record.opened.task

    @property
    def measured(self) -> list[Shape]:
        return measured_shapes(self.row)


def winners(
    records: Sequence[Record], *, step: int | None = None, only_measured: bool = False, fallback: str = ""
) -> list[Winner]:
    """Most specific first: a part of a domain comes before the whole. Raises UsageError."""
    rows = [(record, _chosen(record, step)) for record in records]
    _one_operator(records)
    # A smaller domain is asked first; of equal ones that overlap, the one with the better lower bound.
    rows.sort(key=lambda pair: (n_shapes(pair[0].opened.task), -_low(pair[1])))
    found: list[Winner] = []
    for record, row in rows:
        twin = next((one for one in found if one.task.axes == record.opened.task.axes), None)
        if twin is not None:
            raise UsageError(
                f"campaigns {twin.record.campaign_id} and {record.campaign_id} are for the same shapes "
                f"({record.opened.task.where or 'the whole domain'}): export one of them"
            )
        key = _key(record.opened.task.where, {one.key for one in found})
        rule = _rule(record.opened.task, row, only_measured, fallback or "eager")
        found.append(Winner(key=key, record=record, row=row, rule=rule))
    return found


def serving(found: Sequence[Winner], shape: Shape) -> str:
    """The key of the kernel that serves this shape, nothing when the reference does."""
    return next((winner.key for winner in found if _serves(winner.rule, shape)), "")


def measured_shapes(row: Row) -> list[Shape]:
    """Each once, in the order of the strongest evidence."""
    shapes = [shape.shape for timing in _timings(row) for shape in timing.shapes]
    return [shape for index, shape in enumerate(shapes) if shape not in shapes[:index]]


def _chosen(record: Record, step: int | None) -> Row:
    if step is not None:
        row = record.row(step)
        if row.verdict is None or not row.verdict.correct:
            raise UsageError(f"step {step} is not correct ({row.status}); only correct kernels can be exported")
        return row
    campaign = record.campaign_id
    if record.closed is None:
        raise UsageError(
            f"{campaign}: the search is not finished, so there is no winner; resume it, or choose a kernel with --step"
        )
    if record.winner is None:
        raise UsageError(f"{campaign}: no improvement was found, the reference stays; there is nothing to export")
    return record.winner


def _one_operator(records: Sequence[Record]) -> None:
    first = records[0]
    for record in records[1:]:
        one, other = first.opened.task, record.opened.task
        if operator_id(one) == operator_id(other):
            continue
        names = ("name", "platform", "dtype", "entry", "inputs", "outputs", "rule", "files", "objective")
        what = [name for name in names if getattr(one, name) != getattr(other, name)] or ["axes"]
        raise UsageError(
            f"campaigns {first.campaign_id} and {record.campaign_id} are of different operators ({', '.join(what)} "
            f"differ): one package serves one"
        )


def _low(row: Row) -> float:
    return next((timing.low for timing in _timings(row)), 0.0)


def _timings(row: Row) -> list[Timing]:
    final = [verdict.timing for verdict in (row.sealed, row.confirmed) if verdict and verdict.timing]
    if final or row.verdict is None or row.verdict.timing is None:
        return final
    return [row.verdict.timing]


def _rule(task: Task, row: Row, only_measured: bool, instead: str) -> dict[str, Any]:
    """`never`: shapes at which what would serve instead was measured to be faster."""
    axes = [axis for axis in task.axes if axis.role == "shape"]
    slower = [
        shape.shape
        for timing in _timings(row)
        for shape in timing.shapes
        if any(one.baseline == instead and one.high < 1.0 for one in shape.comparisons)
    ]
    return {
        "ranges": {axis.name: [axis.low, axis.high, axis.multiple_of] for axis in axes},
        "only": measured_shapes(row) if only_measured else None,
        "never": slower,
    }


def _serves(rule: dict[str, Any], shape: Shape) -> bool:
    inside = all(low <= shape[name] <= high and shape[name] % step == 0
                 for name, (low, high, step) in rule["ranges"].items())  # fmt: skip
    return inside and shape not in rule["never"] and (rule["only"] is None or shape in rule["only"])


def _key(where: str, taken: set[str]) -> str:
    words = where.replace(">=", "_from_").replace("<=", "_to_").replace("..", "_to_").replace("=", "")
    name = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_") or "any"
    number, key = 1, name
    while key in taken:
        number += 1
        key = f"{name}_{number}"
    return key
