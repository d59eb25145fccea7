"""A campaign's record as one HTML page."""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from kernelevolve import __version__
from kernelevolve.interfaces.claim import Claim, baseline_means, claim_of
from kernelevolve.interfaces.record import Record, Row
from kernelevolve.interfaces.report.charts import Bars, bars, progress
from kernelevolve.interfaces.report.failures import failure_message, group_failures
from kernelevolve.interfaces.report.layout import ROOT, layout_tree
from kernelevolve.interfaces.report.source import highlight, line_kind, style_sheet, unified_diff
from kernelevolve.interfaces.window import window_of
from kernelevolve.interfaces.wording import (
    LANES,
    baseline_title,
    disturbance_text,
    domain_text,
    duration,
    facts_rows,
    one_line,
    printable,
    rule_text,
    shape_text,
    times,
)

GROUPS = {
    "rejected": "build", "build_failed": "build", "load_failed": "build",
    "crashed": "run", "forbidden": "run", "timeout": "run", "exited_early": "run", "refused": "run",
    "unwritten": "wrong", "out_of_bounds": "wrong", "input_changed": "wrong", "wrong": "wrong", "unstable": "wrong",
    "duplicate": "duplicate", "pending": "pending",
}  # fmt: skip
"""Outcomes by colour: did not build, did not finish, wrong result."""

N_SHADES = 5
N_DRAWN = 1500
"""Nodes drawn of a tree that is too large for a page."""
N_STORY = 14
"""Rows of the lineage table; of a longer lineage the largest gains are told."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A node as drawn."""

    step: int
    x: float
    y: float
    leaf: bool
    css: str
    on_lineage: bool
    label: str
    tip: str


def build_report(record: Record) -> str:
    """The whole page. Everything a candidate wrote is escaped by the template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kernelevolve.interfaces.report", "."), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"times": times, "duration": duration, "printable": printable}
    script = files(__package__).joinpath("page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    claim = claim_of(record)
    story, n_untold = _story(record, claim)
    return environment.get_template("page.html.j2").render(
        record=record, claim=claim, version=__version__, script=script, script_hash=digest,
        style=files(__package__).joinpath("page.css").read_text(encoding="utf-8"), code_style=style_sheet(),
        means=[(baseline_title(name), times(mean)) for name, mean in _means(claim)],
        charts=[chart for by in ("candidates", "time") if (chart := progress(record, by=by))],
        panels=_panels(claim.row), tree=_tree(record, claim), story=story, n_untold=n_untold,
        source=_source(record, claim.row), failures=group_failures(record), counts=record.counts(),
        groups=GROUPS, facts=facts_rows(record.opened.facts), rows=_setting_rows(record, claim),
        trust=_trust_rows(record, claim),
    )  # fmt: skip


def _means(claim: Claim) -> list[tuple[str, float]]:
    return baseline_means(claim.timing) if claim.timing else []


def _panels(row: Row | None) -> list[Bars]:
    if row is None:
        return []
    panels = []
    if row.sealed and row.sealed.timing:
        note = "shapes nobody saw during the search, measured once: the claim"
        panels.append(bars(row.sealed.timing, title="Sealed shapes", note=note))
    if row.confirmed and row.confirmed.timing:
        note = "shown and search shapes, re-measured in a fresh process with many pairs"
        panels.append(bars(row.confirmed.timing, title="Confirmation", note=note))
    if not panels and row.verdict and row.verdict.timing:
        panels.append(bars(row.verdict.timing, title="Search measurement", note="few pairs: a guide, not a claim"))
    return panels


def _shade(row: Row, top: float) -> str:
    """CSS classes by outcome; correct ones are darker the faster they are."""
    if not row.correct:
        return GROUPS.get(row.status, "run")
    speedup = row.speedup or 0.0
    if speedup <= 1.0:
        return "slow"
    share = math.log(speedup) / max(math.log(top), 1e-9)
    return f"fast{min(int(share * N_SHADES), N_SHADES - 1)}"


def _tree(record: Record, claim: Claim) -> dict[str, object]:
    lineage = record.lineage(claim.row.step) if claim.row else []
    window = window_of(record, lineage, N_DRAWN)
    whole, record = (
        record,
        replace(record, rows={step: row for step, row in record.rows.items() if step in window.kept}),
    )
    layout = layout_tree(record, lineage)
    top = max((row.speedup or 1.0 for row in record.rows.values() if row.correct), default=1.0)
    labelled, last = {lineage[-1]} if lineage else set(), 0.0
    for step in lineage[:-1]:
        if (speedup := record.rows[step].speedup) and speedup > last * 1.04:
            labelled.add(step)
            last = speedup
    marks = []
    for step, spot in layout.spots.items():
        if step == ROOT:
            continue
        row = record.rows[step]
        on_lineage = step in lineage
        label = times(row.speedup) if step in labelled and row.speedup else ""
        more = f", {window.hidden[step]:,} more below" if step in window.hidden else ""
        tip = f"step {step}: {row.status} {times(row.speedup) if row.speedup else ''}{more}"
        marks.append(
            Mark(step=step, x=round(spot.x, 1), y=round(spot.y, 1), leaf=spot.leaf, css=_shade(row, top),
                 on_lineage=on_lineage, label=label, tip=tip)
        )  # fmt: skip
    path = [ROOT, *lineage]
    return {
        "n_hidden": window.n_hidden, "n_nodes": len(whole.rows),
        "layout": layout, "marks": marks, "root": layout.spots[ROOT], "spots": layout.spots,
        "edges": [(a, b) for a, b in layout.edges if not (a in path and b in path)],
        "spine": list(zip(path, path[1:], strict=False)),
        "crosses": [(row.move.parents[1], row.step) for row in record.rows.values() if len(row.move.parents) > 1
                    and row.move.parents[1] in layout.spots and not layout.spots[row.step].leaf],
        "details": {str(row.step): _details(row) for row in record.rows.values()},
    }  # fmt: skip


def _details(row: Row) -> dict[str, object]:
    """What the page shows of a node when it is pointed at."""
    found = row.diagnosis
    diagnosis = one_line(f"{found.bottleneck.value}: {found.advice}", 200) if found else ""
    return {
        "status": row.status if row.same_as is None else f"same as step {row.same_as}",
        "speedup": times(row.speedup) if row.speedup else "",
        "move": row.move.operator.value, "parents": list(row.move.parents),
        "recipe": one_line(row.candidate.origin.recipe, 60),
        "intent": one_line(row.candidate.origin.intent, 240),
        "message": one_line(failure_message(row), 240), "diagnosis": diagnosis,
    }  # fmt: skip


def _story(record: Record, claim: Claim) -> tuple[list[dict[str, Any]], int]:
    """The leader's ancestors, each with what it tried and what that brought; and how many are left out."""
    steps = record.lineage(claim.row.step) if claim.row else []
    story: list[dict[str, Any]] = []
    for step in steps:
        row = record.rows[step]
        parent = record.rows.get(row.parent) if row.parent is not None else None
        before = parent.speedup if parent else None
        gain = row.speedup / before if row.speedup and before else None
        story.append(
            {"row": row, "gain": gain, "intent": one_line(row.candidate.origin.intent or row.move.reason, 300)}
        )
    if len(story) > N_STORY:
        weight = {
            index: abs(math.log(gain)) if (gain := item["gain"]) else math.inf for index, item in enumerate(story)
        }
        kept = sorted(weight, key=lambda index: -weight[index])[: N_STORY - 1]
        story = [item for index, item in enumerate(story) if index in kept or index == len(story) - 1]
    return story, len(steps) - len(story)


def _source(record: Record, row: Row | None) -> dict[str, object] | None:
    if row is None:
        return None
    files_html = [(file.path, highlight(file.text, row.candidate.language)) for file in row.candidate.files]
    parent = record.rows.get(row.parent) if row.parent is not None else None
    lines: list[tuple[str, str]] = []
    if parent:
        diff = unified_diff(
            parent.candidate, row.candidate, before_name=f"step {parent.step}", after_name=f"step {row.step}"
        )
        lines = [(line_kind(line), line) for line in diff]
    return {"row": row, "files": files_html, "parent": parent, "diff": lines}


def _setting_rows(record: Record, claim: Claim) -> list[tuple[str, str]]:
    settings, task = record.opened.settings.to_share(), record.opened.task
    n_user = len(record.opened.user_baselines)
    return [
        ("task", f"{task.name}: {one_line(task.summary)}" if task.summary else task.name),
        ("number type", task.dtype),
        ("domain", domain_text(task)),
        ("proposer / policy", f"{one_line(settings.proposer)} / {one_line(settings.policy)}"),
        ("limits", f"{settings.max_candidates} candidates, {duration(settings.max_seconds)}"),
        ("used", f"{len(record.rows)} candidates, {duration(record.elapsed_s)} of search"),
        ("threads", f"{settings.n_threads}, the same for candidates and baselines"),
        (
            "baselines",
            ", ".join([*map(baseline_title, settings.baselines), *([f"{n_user} of your own"] * bool(n_user))]),
        ),
        ("seed", str(settings.seed)),
        ("started", one_line(record.opened.time)),
        ("ended", one_line(record.closed.reason) if record.closed else "not finished"),
        ("task identity", task.content_id[:16]),
        ("kernel identity", claim.row.candidate.id[:16] if claim.row else "none"),
    ]


def _trust_rows(record: Record, claim: Claim) -> list[tuple[str, str]]:
    task = record.opened.task
    shapes = [f"{len(found)} {name}" for name, found in (("shown", task.shapes.shown), ("search", task.shapes.search),
                                                         ("sealed", task.shapes.sealed)) if found]  # fmt: skip
    clock = "host" if claim.lane == "host" else task.objective.clock
    rows = [
        ("rule", rule_text(task.rule)),
        ("compared calls", f"{claim.n_checks}, every element of every output"),
        ("shapes", ", ".join(shapes)),
        ("lane", LANES.get(claim.lane, "nothing was judged")),
        ("isolation", ", ".join(map(one_line, claim.isolation)) or "none was active"),
        (
            "timing",
            f"{clock} clock outside the candidate, {task.objective.cache} inputs, interleaved pairs",
        ),
        ("machine", disturbance_text(claim.disturbed) if claim.disturbed else "nothing else was running"),
        ("interval", "95 % of the median of the pairs' log ratios"),
    ]
    if task.rollout:
        allowed = f"relative L2 error at most {task.rollout.relative_l2:g}"
        rows.insert(1, ("rollout", f"{task.rollout.steps} steps of {task.rollout.state}, {allowed}"))
    if task.shapes.sealed:
        rows.append(("sealed shapes", "; ".join(shape_text(shape) for shape in task.shapes.sealed)))
    return rows
