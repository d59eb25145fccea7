"""`kernelevolve tree`: the search tree as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from kernelevolve.interfaces.record import Record, Row
    from kernelevolve.interfaces.window import Window

N_LEAVES = 2
"""Childless correct nodes shown per parent, the fastest ones; the others are counted."""
N_SHOWN = 300
"""Of a tree too large to be read: the best nodes and their ancestors; the others are counted."""
WIDEST = 160
"""Columns of the branches before a node; those of a deeper one are cut on the left."""


def tree(
    campaign: CampaignArgument = "latest",
    show_all: Annotated[bool, typer.Option("--all", help="Every node, failures and repeats too.")] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """The search tree. Failures, repeats and slower dead ends are counted, not listed."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import read_record

    record = read_record(store, campaign)
    leader = record.leader
    data = {
        "campaign": record.campaign_id,
        "winner": record.winner.step if record.winner else None,
        "lineage": record.lineage(leader.step) if leader else [],
        "counts": record.counts(),
        "nodes": [_node_data(row) for _, row in sorted(record.rows.items())],
    }
    emit("tree", as_json, data, lambda console: _render(record, show_all, console))
    return 0


def _render(record: Record, show_all: bool, console: Console) -> None:
    for line in tree_lines(record, show_all):
        console.print(line, soft_wrap=True)


def _node_data(row: Row) -> dict[str, object]:
    return {
        "step": row.step, "parents": list(row.move.parents), "operator": row.move.operator.value,
        "status": row.status, "same_as": row.same_as, "speedup": row.speedup, "candidate_id": row.candidate.id,
        "recipe": row.candidate.origin.recipe, "intent": row.candidate.origin.intent,
        "message": row.verdict.message if row.verdict else "",
    }  # fmt: skip


def tree_lines(record: Record, show_all: bool) -> list[Text]:
    """Two columns per generation, so that deep trees stay readable. Iterative: a tree may be deeper than the stack."""
    from rich.text import Text

    from kernelevolve.interfaces.window import window_of

    children = record.children()
    spine = set(record.lineage(record.leader.step)) if record.leader else set()
    window = window_of(record, spine, N_SHOWN)
    lines = [Text(f"{record.opened.task.name}, campaign {record.campaign_id}", style="bold")]
    stack: list[tuple[str, bool, int | Text]] = []

    def push(prefix: str, parent: int | None) -> None:
        prefix = prefix if len(prefix) <= WIDEST else f"…{prefix[-WIDEST:]}"
        items = _items(record, children.get(parent, []), children, spine, None if show_all else window, parent or 0)
        stack.extend((prefix, index == len(items) - 1, item) for index, item in reversed(list(enumerate(items))))

    push("", None)
    while stack:
        prefix, last, item = stack.pop()
        line = Text(f"{prefix}{'╰' if last else '├'} ", style="dim")
        if isinstance(item, int):
            lines.append(line.append_text(_node_text(record.rows[item], item in spine, record)))
            push(prefix + ("  " if last else "│ "), item)
        else:
            lines.append(line.append_text(item))
    return lines


def _items(
    record: Record,
    steps: list[int],
    children: dict[int | None, list[int]],
    spine: set[int],
    window: Window | None,
    parent: int,
) -> list[int | Text]:
    """Below a node: the lineage first, then nodes with children, a few leaves, and a count of the rest. Without a
    `window` all there is."""
    from collections import Counter

    from rich.text import Text

    from kernelevolve.interfaces.wording import times

    if window is None:
        return list(steps)
    if window.hidden:
        shown: list[int | Text] = sorted(
            (step for step in steps if step in window.kept), key=lambda s: (s not in spine, s)
        )
        n_hidden = window.hidden.get(parent, 0)
        return [*shown, Text(f"… {n_hidden:,} more", style="dim")] if n_hidden else shown
    kept = [step for step in steps if step in spine or step in children]
    kept.sort(key=lambda step: (step not in spine, step))
    leaves = [record.rows[step] for step in steps if step not in kept]
    right = sorted((row for row in leaves if row.correct), key=lambda row: -(row.speedup or 0.0))
    items: list[int | Text] = [*kept, *(row.step for row in right[:N_LEAVES])]
    notes = []
    if rest := right[N_LEAVES:]:
        notes.append(f"{len(rest)} more correct, up to {times(rest[0].speedup or 0.0)}")
    counts = Counter(row.status.replace("_", " ") for row in leaves if not row.correct)
    notes += [f"{count} {status}" for status, count in counts.most_common()]
    return [*items, Text(f"… {', '.join(notes)}", style="dim")] if notes else items


def _node_text(row: Row, on_spine: bool, record: Record) -> Text:
    from rich.text import Text

    from kernelevolve.interfaces.report.failures import failure_message
    from kernelevolve.interfaces.wording import one_line, times

    won = record.winner is not None and record.winner.step == row.step
    text = Text(f"{row.step}", style="bold green" if on_spine else "bold")
    if row.correct:
        style = "green" if (row.speedup or 0) > 1 else ""
        text.append(f" {times(row.speedup) if row.speedup else 'correct'}", style=style)
    else:
        text.append(
            f" {row.status.replace('_', ' ')}", style="yellow" if row.status in ("duplicate", "pending") else "red"
        )
    if won:
        text.append(" ← the winner", style="bold green")
    about = row.candidate.origin.intent if row.correct else failure_message(row) or row.candidate.origin.intent
    return text.append(f"  {one_line(f'{row.move.operator.value}: {about}', 100)}", style="dim")
