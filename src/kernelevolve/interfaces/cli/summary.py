"""The end of a run: the kernel and report on disk, and what may be said about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelevolve.interfaces.claim import Claim, baseline_means, claim_of
from kernelevolve.interfaces.cli.candidates import FLAGS_LINE
from kernelevolve.interfaces.record import Record, Row, baseline_names
from kernelevolve.interfaces.report.build import build_report
from kernelevolve.interfaces.wording import (
    baseline_title,
    disturbance_text,
    domain_text,
    duration,
    interval,
    microseconds,
    one_line,
    rule_text,
    shape_text,
    times,
)
from kernelevolve.model.verdict import Comparison, Timing

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class Results:
    """Files of a finished campaign. `best` is None when the reference stays."""

    best: Path | None
    report: Path


def write_results(record: Record, folder: Path) -> Results:
    """`best.cpp` (a folder `best` for several files) and `report.html` into the campaign's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.html"
    report.write_text(build_report(record), encoding="utf-8", errors="replace")
    return Results(best=_write_best(record, record.winner, folder) if record.winner else None, report=report)


def _write_best(record: Record, row: Row, folder: Path) -> Path:
    candidate = row.candidate
    flags = f"{FLAGS_LINE} {' '.join(candidate.flags)}\n" if candidate.flags else ""
    head = f"// {record.opened.task.entry}: step {row.step} of campaign {record.campaign_id}\n{flags}"
    single = len(candidate.files) == 1
    for index, file in enumerate(candidate.files):
        path = folder / f"best{Path(file.path).suffix}" if single else folder / "best" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((head if index == 0 else "") + file.text, encoding="utf-8", errors="replace")
    return path if single else folder / "best"


def summary_data(record: Record, files: Results) -> dict[str, Any]:
    """The same facts as `render_summary`, as plain values."""
    claim = claim_of(record)
    task = record.opened.task
    return {
        "campaign": record.campaign_id,
        "task": task.name,
        "status": "improved" if claim.won else "reference_stays" if record.closed else "unfinished",
        "headline": claim.headline,
        "reason": record.closed.reason if record.closed else "",
        "step": claim.row.step if claim.row else None,
        "level": claim.level,
        "low_bound": claim.low_bound,
        "baselines": _baselines_data(claim.row),
        "domain": domain_text(task),
        "sealed_shapes": list(task.shapes.sealed),
        "n_checks": claim.n_checks,
        "rule": task.rule.model_dump(mode="json"),
        "lane": claim.lane,
        "isolation": list(claim.isolation),
        "counts": record.counts(),
        "n_candidates": len(record.rows),
        "elapsed_s": record.elapsed_s,
        "best_file": str(files.best) if files.best else None,
        "report_file": str(files.report),
    }


def _baselines_data(row: Row | None) -> list[dict[str, Any]]:
    found = []
    for level, timing in _timings(row):
        for name, mean in baseline_means(timing):
            shapes = [
                {"shape": shape.shape, "speedup": one.speedup, "low": one.low, "high": one.high,
                 "baseline_us": one.baseline_us, "candidate_us": one.candidate_us}
                for shape in timing.shapes for one in shape.comparisons if one.baseline == name
            ]  # fmt: skip
            found.append({"baseline": name, "level": level, "speedup": mean, "shapes": shapes})
    return found


def _timings(row: Row | None) -> list[tuple[str, Timing]]:
    """The final measurements, strongest first; the search's when there are no others."""
    if row is None:
        return []
    pairs = [("sealed", row.sealed), ("confirm", row.confirmed)]
    found = [(level, verdict.timing) for level, verdict in pairs if verdict and verdict.timing]
    if not found and row.verdict and row.verdict.timing:
        return [("screen", row.verdict.timing)]
    return found


def render_summary(record: Record, files: Results, console: Console) -> None:
    from rich.text import Text

    claim = claim_of(record)
    console.print()
    console.print(Text(claim.headline, style="bold green" if claim.won else "bold"))
    console.print(claim.detail, soft_wrap=True)
    console.print()
    for level, timing in _timings(claim.row):
        render_timing(timing, console, title=TITLES[level])
    for name, value in _lines(record, claim, files):
        console.print(Text.assemble((f"{name:<12}", "dim"), value), soft_wrap=True)


TITLES = {
    "sealed": "sealed shapes (seen once, at the end)", "confirm": "shown and search shapes, measured again",
    "screen": "search measurement (few pairs)",
}  # fmt: skip


def render_timing(timing: Timing, console: Console, *, title: str) -> None:
    """A table: shapes down, baselines across, each with its interval."""
    from rich import box
    from rich.table import Table

    names = baseline_names(timing)
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("shape")
    table.add_column("time", justify="right")
    for name in names:
        table.add_column(f"over {baseline_title(name)}", justify="right")
    for shape in timing.shapes:
        by_name = {found.baseline: found for found in shape.comparisons}
        cells = [_cell(by_name.get(name)) for name in names]
        table.add_row(shape_text(shape.shape), microseconds(shape.latency_us), *cells)
    means = dict(baseline_means(timing))
    table.add_row("geometric mean", "", *(times(means[name]) for name in names), style="bold")
    console.print(table)
    for name, why in timing.left_out.items():
        console.print(one_line(f"left out: {baseline_title(name)}: {why}"), style="dim", soft_wrap=True)


def _cell(found: Comparison | None) -> str:
    return f"{times(found.speedup)} [{interval(found.low, found.high)}]" if found else ""


def _lines(record: Record, claim: Claim, files: Results) -> list[tuple[str, str]]:
    task = record.opened.task
    sealed = ", ".join(shape_text(shape) for shape in task.shapes.sealed)
    lines = [("report", str(files.report))]
    if files.best:
        lines = [
            ("kernel", str(files.best)),
            *lines,
            ("holds for", f"{domain_text(task)}; sealed: {sealed or 'none'}"),
            ("export", f"kernelevolve export {record.campaign_id} DIR"),
        ]
    if claim.row:
        isolation = ", ".join(map(one_line, claim.isolation)) or "none"
        lane = claim.lane.replace("_", " ")
        what = f"{claim.n_checks} compared calls; {rule_text(task.rule)}; lane {lane}; isolation: {isolation}"
        lines.append(("checked", what))
        if claim.disturbed:
            lines.append(("warning", disturbance_text(claim.disturbed)))
    counts = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in record.counts().items())
    return [*lines, ("search", f"{len(record.rows)} candidates in {duration(record.elapsed_s)}: {counts or 'none'}")]
