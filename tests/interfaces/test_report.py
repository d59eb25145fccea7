"""The HTML report: fast, small, self-contained, honest, and deaf to hostile text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from html.parser import HTMLParser

from made_up_campaign import HOSTILE, events, record

from kernelevolve.interfaces.record import fold
from kernelevolve.interfaces.report.build import build_report
from kernelevolve.interfaces.report.charts import log_ticks, progress
from kernelevolve.interfaces.report.failures import group_failures
from kernelevolve.interfaces.report.layout import ROOT, layout_tree
from kernelevolve.interfaces.report.source import line_kind, unified_diff
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Judged, Proposed


class Elements(HTMLParser):
    """Tags with their attributes, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_five_hundred_nodes_take_under_three_seconds_and_three_megabytes():
    found = record(500)
    started = time.process_time()
    page = build_report(found)
    assert time.process_time() - started < 3
    assert len(page.encode()) < 3_000_000


def test_every_node_is_drawn_once_and_explained():
    page = build_report(record(120))
    drawn = [attributes["data-step"] for _, attributes in Elements(page).tags if "data-step" in attributes]
    assert sorted(map(int, drawn if all(drawn) else [])) == list(range(1, 121))
    details = json.loads(re.search(r'id="nodes">(.*?)</script>', page, re.S)[1])
    assert set(details) == {str(step) for step in range(1, 121)}


def test_hostile_text_stays_text():
    page = build_report(record(60, hostile=True))
    elements = Elements(page).tags
    scripts = [attributes for tag, attributes in elements if tag == "script"]
    assert len(scripts) == 2  # the page's own, and the data
    assert not [tag for tag, _ in elements if tag == "img"]
    assert not [attributes for _, attributes in elements if any(name.startswith("on") for name in attributes)]
    assert "alert(1)" in page  # it is shown, as text
    assert "49" not in HOSTILE
    assert "{{ 7*7 }}" in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_the_page_loads_nothing_and_only_its_own_script_may_run():
    page = build_report(record(30))
    elements = Elements(page).tags
    assert not [tag for tag, attributes in elements if tag == "link" or "src" in attributes or "href" in attributes]
    assert "@import" not in page
    assert "url(" not in page
    policy = next(attributes["content"] for tag, attributes in elements if attributes.get("http-equiv"))
    script = re.search(r"<script>(.*?)</script>", page, re.S)[1]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in (policy or "")


def test_the_page_says_won_lost_and_unfinished():
    assert "Sealed shapes" in build_report(record(60))
    assert "the reference stays" in build_report(record(60, win=False))
    unfinished = build_report(record(60, close=False))
    assert "not finished" in unfinished
    assert "a guide, not a claim" in unfinished


def test_a_campaign_without_any_node_still_has_a_page():
    page = build_report(fold("c-1", events(1)[:1]))
    assert "Nothing did." in page


def test_a_parallel_lineage_is_one_straight_line_and_nothing_overlaps():
    found = record(500)
    assert found.winner is not None
    line = found.lineage(found.winner.step)
    layout = layout_tree(found, line)
    assert len({round(layout.spots[step].y, 3) for step in [ROOT, *line]}) == 1
    places = [(round(spot.x, 1), round(spot.y, 1)) for spot in layout.spots.values()]
    assert len(set(places)) == len(places) == 501
    by_column: dict[float, list[float]] = {}
    for spot in layout.spots.values():
        if not spot.leaf:
            by_column.setdefault(round(spot.x, 1), []).append(spot.y)
    gaps = [b - a for ys in by_column.values() for a, b in zip(sorted(ys), sorted(ys)[1:], strict=False)]
    assert min(gaps) >= 10  # marks are 10 to 12 wide


def test_a_chain_deeper_than_the_stack_can_be_laid_out():
    base = events(2, close=False)
    chain = [base[0]]
    proposed = next(event for event in base if isinstance(event, Proposed))
    judged = next(event for event in base if isinstance(event, Judged))
    for step in range(1, 1501):
        parents = (step - 1,) if step > 1 else ()
        move = Move(operator=Operator.MUTATE if parents else Operator.DRAFT, parents=parents)
        chain.append(proposed.model_copy(update={"step": step, "move": move}))
        chain.append(judged.model_copy(update={"step": step}))
    assert len(layout_tree(fold("c", chain), []).spots) == 1501


def test_the_curve_ends_at_the_best_and_ticks_are_inside():
    found = record(200)
    chart = progress(found, by="candidates")
    assert chart is not None
    best = max(row.speedup or 0 for row in found.rows.values() if row.correct)
    assert chart.end_label == f"{best:.2f}×"
    assert all(0 <= tick.at <= chart.height for tick in chart.y_ticks)
    assert len(chart.failures) + len(chart.dots) <= 200
    for low, high in ((0.5, 3.2), (0.98, 1.07), (0.1, 400.0)):
        ticks = log_ticks(low, high)
        assert 3 <= len(ticks) <= 9
        assert all(low <= tick <= high for tick in ticks)


def test_failures_are_grouped_by_outcome_and_message_without_numbers():
    found = record(200)
    groups = group_failures(found)
    failed = [row for row in found.rows.values() if row.status not in ("correct", "duplicate")]
    assert sum(group.count for group in groups) == len(failed)
    assert [group.count for group in groups] == sorted((group.count for group in groups), reverse=True)
    assert all(group.example in group.steps for group in groups)


def test_a_diff_names_files_flags_and_both_sides():
    rows = record(3).rows
    changed = rows[2].candidate.model_copy(update={"flags": ("-O2",)})
    lines = unified_diff(rows[1].candidate, changed, before_name="step 1", after_name="step 2")
    kinds = [line_kind(line) for line in lines]
    assert lines[:2] == ["-flags: (none)", "+flags: -O2"]
    assert "--- step 1/kernel.cpp" in lines
    assert kinds.count("add") == kinds.count("cut") == 2
    assert unified_diff(rows[1].candidate, rows[1].candidate, before_name="a", after_name="b") == []
