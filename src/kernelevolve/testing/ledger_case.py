"""What every ledger must do. Subclass `LedgerCase`, write `make_ledger`, and pytest runs the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernelevolve.errors import SpentError
from kernelevolve.proposers.base import Ledger, Usage


class LedgerCase(ABC):
    @abstractmethod
    def make_ledger(self, folder: Path, *, max_usd: float | None, max_tokens: int | None) -> Ledger:
        """An empty one with these limits."""

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Ledger:
        """At most 1000 tokens and one dollar."""
        return self.make_ledger(tmp_path, max_usd=1.0, max_tokens=1000)

    def reserve(self, ledger: Ledger, *, tokens: int = 100, usd: float | None = 0.1, request: str = "a") -> int:
        return ledger.reserve(ask=1, model="some-model", request=request, tokens=tokens, usd=usd)

    def test_every_reservation_has_its_own_number(self, ledger: Ledger) -> None:
        assert len({self.reserve(ledger, tokens=1, usd=0.0) for _ in range(5)}) == 5

    def test_an_answer_is_there_when_it_was_paid_for_and_not_before(self, ledger: Ledger) -> None:
        assert ledger.answer("a") is None
        call = self.reserve(ledger)
        assert ledger.answer("a") is None
        ledger.settle(call, Usage(outcome="answered", tokens_in=1, tokens_out=2, usd=0.01, answer="é\n``` text"))
        assert ledger.answer("a") == "é\n``` text"
        assert ledger.answer("b") is None

    def test_a_failed_call_is_no_answer_and_counts_what_it_took(self, ledger: Ledger) -> None:
        """PS29"""
        call = self.reserve(ledger, tokens=1000, usd=0.5)
        ledger.settle(call, Usage(outcome="failed", tokens_in=600, tokens_out=0, usd=0.2, message="half a stream"))
        assert ledger.answer("a") is None
        with pytest.raises(SpentError):
            self.reserve(ledger, tokens=401)
        self.reserve(ledger, tokens=400)

    def test_what_is_reserved_is_as_good_as_spent(self, ledger: Ledger) -> None:
        """PS59"""
        self.reserve(ledger, tokens=700)
        with pytest.raises(SpentError, match="tokens"):
            self.reserve(ledger, tokens=301)
        self.reserve(ledger, tokens=300)

    def test_settling_gives_back_what_was_not_needed(self, ledger: Ledger) -> None:
        call = self.reserve(ledger, tokens=1000, usd=1.0)
        ledger.settle(call, Usage(outcome="answered", tokens_in=10, tokens_out=20, usd=0.25, answer="x"))
        self.reserve(ledger, tokens=970, usd=0.75)
        with pytest.raises(SpentError):
            self.reserve(ledger, tokens=1, usd=0.0)

    def test_the_limit_in_dollars_stops_too(self, ledger: Ledger) -> None:
        """PS59"""
        self.reserve(ledger, tokens=1, usd=0.75)
        with pytest.raises(SpentError, match=r"\$"):
            self.reserve(ledger, tokens=1, usd=0.5)

    def test_an_unknown_price_is_limited_by_tokens_and_is_not_zero(self, tmp_path: Path) -> None:
        """PS59"""
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        ledger = self.make_ledger(tmp_path / "a", max_usd=1.0, max_tokens=100)
        self.reserve(ledger, tokens=60, usd=None)
        with pytest.raises(SpentError):
            self.reserve(ledger, tokens=60, usd=None)
        open_ended = self.make_ledger(tmp_path / "b", max_usd=1.0, max_tokens=None)
        with pytest.raises(SpentError, match="--max-tokens"):
            self.reserve(open_ended, tokens=1, usd=None)

    def test_a_refused_reservation_takes_nothing(self, ledger: Ledger) -> None:
        with pytest.raises(SpentError):
            self.reserve(ledger, tokens=5000)
        self.reserve(ledger, tokens=1000)

    def test_threads_together_do_not_pass_the_limit(self, ledger: Ledger) -> None:
        def one(number: int) -> int:
            try:
                call = self.reserve(ledger, tokens=30, usd=0.0, request=f"r{number}")
            except SpentError:
                return 0
            ledger.settle(call, Usage(outcome="answered", tokens_in=30, usd=0.0, answer=str(number)))
            return 30

        with ThreadPoolExecutor(8) as pool:
            taken = sum(pool.map(one, range(60)))
        assert taken == 990
