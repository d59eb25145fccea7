from __future__ import annotations

import time
from pathlib import Path

import pytest

from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.ledger import EventLedger, spent
from kernelevolve.errors import SpentError
from kernelevolve.proposers.base import Usage
from kernelevolve.search.tree import Tree
from kernelevolve.store.sqlite import SqliteStore
from kernelevolve.testing.ledger_case import LedgerCase
from kernelevolve.testing.samples import sample_opened
from tests.campaign.parts import QUICK

PAID = Usage(outcome="answered", tokens_in=10, tokens_out=5, usd=0.1, answer="text")


def open_ledger(folder: Path, **limits: object) -> tuple[EventLedger, Journal]:
    store = SqliteStore(folder)
    campaign = store.open_campaign(sample_opened(QUICK.model_copy(update=limits)))
    journal = Journal(store=store, campaign_id=campaign, listeners=(), clock=time.monotonic)
    return EventLedger(journal), journal


class TestEventLedger(LedgerCase):
    def make_ledger(self, folder: Path, *, max_usd: float | None, max_tokens: int | None) -> EventLedger:
        return open_ledger(folder, max_usd=max_usd, max_tokens=max_tokens)[0]


def test_the_books_are_events_and_another_reading_finds_them(tmp_path: Path) -> None:
    ledger, journal = open_ledger(tmp_path, max_tokens=100)
    call = ledger.reserve(ask=1, model="m", request="r1", tokens=40, usd=None)
    ledger.settle(call, PAID)
    ledger.reserve(ask=2, model="m", request="r2", tokens=60, usd=0.5)
    tree = Tree(SqliteStore(tmp_path).read(SqliteStore(tmp_path).resolve("latest")))
    assert (spent(tree).tokens, spent(tree).usd) == (75, 0.6)
    other = Journal(
        store=SqliteStore(tmp_path), campaign_id=SqliteStore(tmp_path).resolve("latest"), listeners=(),
        clock=time.monotonic,
    )  # fmt: skip
    again = EventLedger(other)
    again.lose("crashed")
    assert again.answer("r1") == "text"
    assert again.answer("r2") is None
    with pytest.raises(SpentError, match="25 of 100"):
        again.reserve(ask=3, model="m", request="r3", tokens=26, usd=None)
    assert other.tree.settled[2].outcome == "lost"
    assert journal.tree.settled.keys() == {1}


def test_a_late_settlement_is_dropped_and_never_overwrites(tmp_path: Path) -> None:
    """PS34"""
    ledger, journal = open_ledger(tmp_path, max_tokens=100)
    call = ledger.reserve(ask=1, model="m", request="r", tokens=40, usd=None)
    ledger.lose("nobody waits")
    before = journal.tree.n_events
    ledger.settle(call, PAID)
    assert journal.tree.n_events == before
    assert journal.tree.settled[call].outcome == "lost"
    assert spent(journal.tree).tokens == 40
    journal.shut_down("the run has ended")
    ledger.settle(call, PAID)
    with pytest.raises(SpentError, match="nobody waits"):
        ledger.reserve(ask=2, model="m", request="r2", tokens=1, usd=None)
    assert journal.tree.n_events == before
