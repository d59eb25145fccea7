"""Limits on what calls to models may take, and a ledger that keeps them in memory."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from kernelevolve.errors import SpentError
from kernelevolve.proposers.base import Usage


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Hard stops; None: no such limit. Tokens count what went in and what came out."""

    max_usd: float | None = None
    max_tokens: int | None = None

    def check(self, *, model: str, taken_tokens: int, taken_usd: float, tokens: int, usd: float | None) -> None:
        """`taken`: everything settled and everything still reserved. Raises SpentError when `tokens` and `usd` more
        would pass a limit, and for a price that nobody knows when no limit on tokens stands in for it."""
        if usd is None and self.max_tokens is None:
            raise SpentError(
                f"the price of '{model}' is not known, so a limit in dollars cannot hold: set --max-tokens, or write "
                "its price into a file and name the file in KERNELEVOLVE_PRICES"
            )
        if self.max_tokens is not None and taken_tokens + tokens > self.max_tokens:
            raise SpentError(
                f"a call to '{model}' may take {tokens} tokens; {taken_tokens} of --max-tokens {self.max_tokens} are "
                "spent or set aside"
            )
        if self.max_usd is not None and usd is not None and taken_usd + usd > self.max_usd:
            raise SpentError(
                f"a call to '{model}' may cost ${usd:.4f}; ${taken_usd:.4f} of --max-usd {self.max_usd:g} are spent or "
                "set aside"
            )


@dataclass(frozen=True, kw_only=True)
class _Call:
    request: str
    tokens: int
    usd: float | None


class MemoryLedger:
    """Forgets everything when the process ends: for one run outside a campaign, and for tests."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._lock = Lock()
        self._open: dict[int, _Call] = {}
        self._settled: dict[int, Usage] = {}
        self._answers: dict[str, str] = {}
        self._n_calls = 0

    def answer(self, request: str) -> str | None:
        with self._lock:
            return self._answers.get(request)

    def reserve(self, *, ask: int, model: str, request: str, tokens: int, usd: float | None) -> int:
        with self._lock:
            self.limits.check(
                model=model, taken_tokens=self._tokens(), taken_usd=self._usd(), tokens=tokens, usd=usd
            )  # fmt: skip
            self._n_calls += 1
            self._open[self._n_calls] = _Call(request=request, tokens=tokens, usd=usd)
            return self._n_calls

    def settle(self, call: int, usage: Usage) -> None:
        """Raises ValueError for a call that is not open: settled before, or never reserved."""
        with self._lock:
            if call not in self._open:
                raise ValueError(f"call {call} is not open: it was settled before, or never reserved")
            reserved = self._open.pop(call)
            self._settled[call] = usage
            if usage.outcome == "answered":
                self._answers[reserved.request] = usage.answer

    @property
    def usages(self) -> tuple[Usage, ...]:
        """Of the settled calls, in the order they were reserved."""
        with self._lock:
            return tuple(self._settled[call] for call in sorted(self._settled))

    @property
    def tokens(self) -> int:
        """Settled and reserved, in and out."""
        with self._lock:
            return self._tokens()

    @property
    def usd(self) -> float:
        """Settled and reserved; calls without a price count nothing here, and are limited by their tokens."""
        with self._lock:
            return self._usd()

    def _tokens(self) -> int:
        settled = sum(usage.tokens_in + usage.tokens_out for usage in self._settled.values())
        return settled + sum(call.tokens for call in self._open.values())

    def _usd(self) -> float:
        settled = sum(usage.usd or 0.0 for usage in self._settled.values())
        return settled + sum(call.usd or 0.0 for call in self._open.values())
