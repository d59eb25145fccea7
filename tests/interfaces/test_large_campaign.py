"""A campaign of 50,000 nodes opens in the tree and in the report; and what a window of a tree shows."""

from __future__ import annotations

import math
import random
import re
import time

import pytest
from made_up_campaign import FACTS, FAILURES, TASK, candidate, correct, failed, record

from kernelevolve.interfaces.cli.tree import N_SHOWN, tree_lines
from kernelevolve.interfaces.record import Record, fold
from kernelevolve.interfaces.report.build import N_DRAWN, build_report
from kernelevolve.interfaces.window import WHOLE, window_of
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Event, Judged, Opened, Proposed, Settings

MADE = [candidate(number) for number in range(64)]
"""A few sources for all: making 50,000 would be most of the test."""


def large(n: int, *, chain: bool = False) -> Record:
    """Bushy, or (`chain`) each node below the one before."""
    draw = random.Random(0)
    events: list[Event] = [
        Opened(task=TASK, settings=Settings(max_candidates=n), facts=FACTS, time="2026-01-02T03:04:05")
    ]
    verdicts = [[correct(made, "screen", math.exp(draw.gauss(0.3, 0.4))) for _ in range(8)] for made in MADE]
    good = [1]
    for step in range(1, n + 1):
        number = draw.randrange(len(MADE))
        parent = step - 1 if chain else draw.choice(good[-500:] if draw.random() < 0.7 else good)
        drafts = step == 1 or (not chain and draw.random() < 0.005)
        move = Move(operator=Operator.DRAFT) if drafts else Move(operator=Operator.MUTATE, parents=(parent,))
        right = draw.random() < 0.6
        verdict = draw.choice(verdicts[number]) if right else failed(MADE[number], *draw.choice(FAILURES))
        if right:
            good.append(step)
        events.append(Proposed(step=step, move=move, candidate=MADE[number], elapsed_s=step * 0.1))
        events.append(Judged(step=step, verdict=verdict, elapsed_s=step * 0.1 + 0.05))
    return fold("map_id-large", events)


@pytest.mark.slow
def test_fifty_thousand_nodes_open_without_choking() -> None:
    """PS37, of the interfaces: seconds are the processor's and leave out loading."""
    found = large(50_000)
    started = time.process_time()
    lines = tree_lines(found, False)
    assert time.process_time() - started < 3
    assert len(lines) < 3 * N_SHOWN
    started = time.process_time()
    page = build_report(found).encode()
    assert time.process_time() - started < 15
    assert len(page) < 10_000_000


def test_a_large_tree_shows_its_best_part_and_counts_the_rest() -> None:
    found = large(WHOLE + 1000)
    assert found.leader is not None
    text = [line.plain for line in tree_lines(found, False)]
    counted = sum(int(number.replace(",", "")) for line in text for number in re.findall(r"… ([\d,]+) more$", line))
    shown = [line for line in text[1:] if not re.search(r"… [\d,]+ more$", line)]
    assert len(shown) + counted == WHOLE + 1000
    assert N_SHOWN <= len(shown) < 2 * N_SHOWN
    assert any(re.search(rf"(^|\W){found.leader.step} ", line) for line in shown)
    assert len(tree_lines(found, True)) == WHOLE + 1001
    page = build_report(found)
    drawn = {int(step) for step in re.findall(r'data-step="(\d+)"', page)}
    assert N_DRAWN <= len(drawn) < 2 * N_DRAWN
    assert set(found.lineage(found.leader.step)) <= drawn
    assert f"{WHOLE + 1000 - len(drawn):,} more are not" in page


def test_a_window_is_a_tree_and_forgets_nobody() -> None:
    """PS13: every node shown has its way to a root."""
    found = large(WHOLE + 500)
    assert found.leader is not None
    window = window_of(found, found.lineage(found.leader.step), 100)
    for step in window.kept:
        assert set(found.lineage(step)) <= window.kept
    assert len(window.kept) + window.n_hidden == len(found.rows)
    assert set(window.hidden) <= {0, *window.kept}
    assert len(window.kept) < 300


def test_a_small_tree_is_shown_whole() -> None:
    found = record(300)
    window = window_of(found, [], 10)
    assert (len(window.kept), window.n_hidden) == (300, 0)
    assert "more are not" not in build_report(found)


def test_a_very_deep_tree_stays_readable() -> None:
    found = large(WHOLE + 1, chain=True)
    lines = tree_lines(found, False)
    assert max(len(line.plain) for line in lines) < 300
