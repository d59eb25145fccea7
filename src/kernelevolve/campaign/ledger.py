"""What calls to models cost, kept as events of the campaign: set aside before a call, settled after it."""

from __future__ import annotations

from dataclasses import dataclass

from kernelevolve.campaign.journal import Journal
from kernelevolve.errors import SpentError
from kernelevolve.model.events import Reserved, Settled
from kernelevolve.proposers.base import Usage
from kernelevolve.search.tree import Tree


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Settled calls at what they took, open ones at the most they can take. A price that is unknown adds nothing to
    `usd` and all to `tokens`."""

    tokens: int
    usd: float


def spent(tree: Tree) -> Spent:
    tokens, usd = 0, 0.0
    for call, reserved in tree.reserved.items():
        settled = tree.settled.get(call)
        tokens += reserved.tokens if settled is None else settled.tokens_in + settled.tokens_out
        usd += (reserved.usd if settled is None else settled.usd) or 0.0
    return Spent(tokens=tokens, usd=usd)


def open_calls(tree: Tree) -> list[Reserved]:
    return [reserved for call, reserved in tree.reserved.items() if call not in tree.settled]


class EventLedger:
    """A `Ledger` that keeps nothing itself: its numbers are the campaign's events, so that a crash, another thread or
    another run reads the same ones."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def answer(self, request: str) -> str | None:
        with self._journal.lock:
            tree = self._journal.tree
            for call, reserved in tree.reserved.items():
                settled = tree.settled.get(call)
                if reserved.request == request and settled is not None and settled.outcome == "answered":
                    return settled.answer
        return None

    def reserve(self, *, ask: int, model: str, request: str, tokens: int, usd: float | None) -> int:
        """Also raises SpentError once nobody waits for the answer any more: a thread left behind buys nothing."""
        journal = self._journal
        with journal.lock:
            if journal.shut or ask in journal.tree.answers:
                raise SpentError(f"nobody waits for question {ask} any more: no call was made")
            self._refuse_beyond_limits(model, tokens, usd)
            call = max(journal.tree.reserved, default=0) + 1
            now_s = journal.elapsed_s
            journal.record(
                Reserved(call=call, ask=ask, model=model, request=request, tokens=tokens, usd=usd, elapsed_s=now_s)
            )
        return call

    def settle(self, call: int, usage: Usage) -> None:
        """What comes after its reservation was given up is dropped: the books stay as they were closed."""
        with self._journal.lock:
            if self._journal.shut or call in self._journal.tree.settled:
                return
            self._journal.record(
                Settled(
                    call=call,
                    outcome=usage.outcome,
                    tokens_in=usage.tokens_in,
                    tokens_out=usage.tokens_out,
                    usd=usage.usd,
                    answer=usage.answer,
                    message=usage.message,
                    elapsed_s=self._journal.elapsed_s,
                )  # fmt: skip
            )

    def lose(self, why: str, ask: int | None = None) -> None:
        """Open reservations, of one question or of all, stay spent: nobody can tell how far their calls got."""
        with self._journal.lock:
            elapsed_s = self._journal.elapsed_s
            lost = [
                Settled(
                    call=reserved.call,
                    outcome="lost",
                    tokens_in=reserved.tokens,
                    usd=reserved.usd,
                    message=why,
                    elapsed_s=elapsed_s,
                )  # fmt: skip
                for reserved in open_calls(self._journal.tree)
                if ask is None or reserved.ask == ask
            ]
            if lost:
                self._journal.record(*lost)

    def _refuse_beyond_limits(self, model: str, tokens: int, usd: float | None) -> None:
        settings, used = self._journal.settings, spent(self._journal.tree)
        if settings.max_tokens is not None and used.tokens + tokens > settings.max_tokens:
            raise SpentError(
                f"a call to {model} may take {tokens} tokens, {max(0, settings.max_tokens - used.tokens)} of "
                f"{settings.max_tokens} are left"
            )
        if usd is None and settings.max_tokens is None:
            raise SpentError(f"the price of {model} is unknown, so nothing limits what it costs: set --max-tokens")
        if settings.max_usd is not None and usd is not None and used.usd + usd > settings.max_usd + 1e-9:
            left = max(0.0, settings.max_usd - used.usd)
            raise SpentError(f"a call to {model} may cost ${usd:.4f}, ${left:.4f} of ${settings.max_usd:g} are left")
