"""The fold behind all interfaces, and the words made from it."""

from __future__ import annotations

import pytest
from made_up_campaign import events, record

from kernelevolve.errors import RecordError, UsageError
from kernelevolve.interfaces.claim import claim_of
from kernelevolve.interfaces.record import fold
from kernelevolve.interfaces.wording import duration, interval, one_line, printable, sparkline, times


def test_a_record_has_every_step_and_its_counts_add_up():
    found = record(60)
    assert list(found.rows) == list(range(1, 61))
    assert sum(found.counts().values()) == 60
    assert {row.status for row in found.rows.values()} >= {"correct", "duplicate"}


def test_the_lineage_runs_from_a_draft_to_the_winner_along_parents():
    found = record(60)
    assert found.winner is not None
    line = found.lineage(found.winner.step)
    assert found.rows[line[0]].parent is None
    assert line[-1] == found.winner.step
    assert all(found.rows[child].parent == parent for parent, child in zip(line, line[1:], strict=False))


def test_best_so_far_never_falls_and_starts_at_the_baseline():
    curve = [best for _, best in record(80).best_so_far()]
    assert curve[0] >= 1.0
    assert all(later >= earlier for earlier, later in zip(curve, curve[1:], strict=False))


def test_events_without_an_opening_are_no_campaign():
    with pytest.raises(RecordError, match="no first event"):
        fold("c", events(3)[1:])


def test_an_unknown_step_is_named_together_with_the_range():
    with pytest.raises(UsageError, match="no step 99.*1 to 5"):
        record(5).row(99)


def test_only_a_closed_campaign_with_a_winner_claims_a_speedup():
    won, lost, running = claim_of(record(60)), claim_of(record(60, win=False)), claim_of(record(60, close=False))
    assert won.won
    assert "as fast" in won.headline
    assert won.level == "sealed"
    assert not lost.won
    assert "the reference stays" in lost.headline
    assert "lower bound" in lost.detail
    assert not running.won
    assert running.running
    assert "not a claim" in running.detail


def test_nothing_correct_is_said_plainly():
    found = [event for event in events(40, close=False) if getattr(event, "kind", "") != "diagnosed"][:1]
    claim = claim_of(fold("c", found))
    assert claim.row is None
    assert "nothing correct" in claim.headline


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a\x1b[31mb", "a\ufffd[31mb"), ("a\u202eb", "a\ufffdb"), ("a\ud800b", "a\ufffdb"), ("a\nb\tc", "a\nb\tc")],
)
def test_control_characters_are_replaced_and_line_breaks_kept(text: str, kept: str):
    assert printable(text) == kept


def test_numbers_read_the_same_everywhere():
    assert (times(2.345), times(23.45), times(234.5)) == ("2.35×", "23.4×", "234×")
    assert interval(1.0, 1.25) == "1.00–1.25"
    assert (duration(3.2), duration(75), duration(4000)) == ("3.2 s", "1 min 15 s", "1 h 06 min")
    assert one_line(" a \n b ", 3) == "a b"
    assert sparkline([1.0, 2.0, 4.0]) == "▁▅█"
