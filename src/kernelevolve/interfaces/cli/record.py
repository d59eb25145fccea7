"""`kernelevolve record`: a campaign's proposals as a file that can be replayed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption

if TYPE_CHECKING:
    from kernelevolve.interfaces.record import Record, Row
    from kernelevolve.proposers.replay_file import Entry, Header, Recorded


def record(
    campaign: CampaignArgument,
    file: Annotated[Path, typer.Argument(help="The file to write (.jsonl).", metavar="FILE")],
    correct: Annotated[
        bool, typer.Option("--correct", help="Leave out failures, repeats, and what was never judged.")
    ] = False,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Only the winner, or else the best, and its ancestors.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Write a campaign's proposals to a file; `run --proposer replay:FILE` judges them again, live."""
    from kernelevolve.errors import UsageError
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import read_record
    from kernelevolve.proposers.replay_file import replay_text

    found = read_record(store, campaign)
    entries = [_entry(row) for row in _rows(found, correct=correct, lineage=lineage)]
    if not entries:
        raise UsageError(f"campaign {found.campaign_id} has no such proposal to record")
    try:
        with file.open("w" if force else "x", encoding="utf-8", newline="\n") as handle:
            handle.write(replay_text(_header(found), entries))
    except FileExistsError as error:
        raise UsageError(f"{file} is there already; choose another name, or say --force") from error
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
    data = {"campaign": found.campaign_id, "file": str(file), "n_candidates": len(entries)}
    task = found.opened.task.name
    text = f"{file}: {len(entries)} candidates\nreplay them: kernelevolve run {task} --proposer replay:{file}"
    emit("record", as_json, data, lambda console: console.print(text, soft_wrap=True))
    return 0


def _rows(record: Record, *, correct: bool, lineage: bool) -> list[Row]:
    steps = sorted(record.rows)
    if lineage:
        steps = record.lineage(record.leader.step) if record.leader else []
    rows = [record.rows[step] for step in steps]
    return [row for row in rows if row.correct and row.same_as is None] if correct else rows


def _header(record: Record) -> Header:
    from kernelevolve.proposers.replay_file import Header

    opened, task = record.opened, record.opened.task
    return Header(
        task=task.name, task_id=task.content_id, entry=task.entry, platform=task.platform, machine=opened.facts.model,
        campaign=record.campaign_id, proposer=opened.settings.proposer.partition(":")[0],
        policy=opened.settings.policy, opened=opened.time, winner=record.winner.step if record.winner else None,
    )  # fmt: skip


def _entry(row: Row) -> Entry:
    from kernelevolve.proposers.replay_file import Entry

    return Entry(candidate=row.candidate, step=row.step, move=row.move, recorded=_recorded(row))


def _recorded(row: Row) -> Recorded | None:
    """The strongest evidence there is without the sealed shapes."""
    from kernelevolve.proposers.replay_file import Recorded

    if row.verdict is None:
        return None
    verdict = row.confirmed or row.verdict
    timing = verdict.timing
    return Recorded(
        outcome=verdict.outcome, speedup=timing.speedup if timing else None, low=timing.low if timing else None,
        high=timing.high if timing else None, same_as=row.same_as,
    )  # fmt: skip
