"""The ledger: who uses the sealed shapes of a task again may risk less."""

from __future__ import annotations

import time

from kernelevolve.campaign.journal import ALPHA, SMALLEST_ALPHA, Journal
from kernelevolve.model.events import Sealed
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_candidate, sample_opened, sample_proposed, sample_verdict


def journal(store: MemoryStore, name: str, number: int, *, sealed: bool) -> Journal:
    campaign = store.open_campaign(sample_opened(name=name, time=f"2026-01-02T03:04:{number:02}+00:00"))
    made = Journal(store=store, campaign_id=campaign, listeners=(), clock=time.monotonic)
    if sealed:
        made.record(sample_proposed(1))
        made.record(Sealed(step=1, verdict=sample_verdict(sample_candidate(1)), elapsed_s=1.0))
    return made


def test_each_use_of_the_sealed_shapes_halves_what_the_next_may_risk() -> None:
    store = MemoryStore()
    found = [journal(store, "double", number, sealed=True).sealed_alpha() for number in range(4)]
    assert found == [ALPHA, ALPHA / 2, ALPHA / 4, ALPHA / 8]


def test_other_tasks_and_unfinished_campaigns_do_not_count() -> None:
    store = MemoryStore()
    journal(store, "double", 0, sealed=False)
    journal(store, "triple", 1, sealed=True)
    assert journal(store, "double", 2, sealed=False).sealed_alpha() == ALPHA


def test_it_stops_where_an_interval_would_be_the_whole_range() -> None:
    store = MemoryStore()
    for number in range(12):
        last = journal(store, "double", number, sealed=True)
    assert last.sealed_alpha() == SMALLEST_ALPHA
