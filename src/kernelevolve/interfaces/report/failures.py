"""What failed and why: attempts grouped by outcome and message."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelevolve.interfaces.record import Record, Row
from kernelevolve.interfaces.wording import one_line, shape_text


@dataclass(frozen=True, kw_only=True)
class FailureGroup:
    outcome: str
    message: str
    count: int
    example: int
    steps: tuple[int, ...]


def failure_message(row: Row) -> str:
    """The most telling line of a failed verdict."""
    verdict = row.verdict
    if verdict is None:
        return ""
    if verdict.compile_messages:
        first = verdict.compile_messages[0]
        return one_line(
            f"{first.file}:{first.line}: {first.message}" if first.line else f"{first.file}: {first.message}"
        )
    if verdict.mismatch and not verdict.message:
        found = verdict.mismatch
        return one_line(f"{found.tensor}: {found.n_wrong} of {found.n_total} wrong at {shape_text(found.shape)}")
    return one_line(verdict.message)


def group_failures(record: Record) -> list[FailureGroup]:
    """Most frequent first. Messages that differ only in their numbers are one group."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for _, row in sorted(record.rows.items()):
        if row.verdict and not row.verdict.correct and row.same_as is None:
            key = re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "#", failure_message(row))[:160]
            groups.setdefault((row.status, key), []).append(row)
    found = [
        FailureGroup(
            outcome=outcome, message=one_line(failure_message(rows[0]), 400), count=len(rows),
            example=rows[0].step, steps=tuple(row.step for row in rows),
        )
        for (outcome, _), rows in groups.items()
    ]  # fmt: skip
    return sorted(found, key=lambda group: (-group.count, group.example))
