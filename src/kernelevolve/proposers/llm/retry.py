"""The only place where calls are repeated: the SDKs are told not to."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from kernelevolve.proposers.llm.base import CallError

T = TypeVar("T")
RETRIED = frozenset((408, 409, 429))
"""Answers of the 4xx family that mean "later"; all other 4xx mean "never"."""


def is_retried(status: int) -> bool:
    return status in RETRIED or status >= 500


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """How long, and how often. Between tries `first_s` doubles up to `longest_s`, and half of it is left to chance,
    so that many callers do not come back together. What the server asks for counts where it is longer; when it asks
    for more than `patience_s`, all tries together, the call fails at once."""

    n_tries: int = 6
    first_s: float = 1.0
    longest_s: float = 60.0
    patience_s: float = 300.0


@dataclass(frozen=True, kw_only=True)
class Retry:
    sleep: Callable[[float], None]
    say: Callable[[str], None] = lambda text: None
    waiting: Waiting = field(default_factory=Waiting)

    def run(self, call: Callable[[], T], *, rng: random.Random) -> T:
        """Raises the last CallError; whatever else `call` raises passes at once."""
        waited_s = 0.0
        for number in range(1, self.waiting.n_tries + 1):
            try:
                return call()
            except CallError as error:
                wait_s = self._wait_s(number, error.wait_s, rng)
                if number == self.waiting.n_tries or waited_s + wait_s > self.waiting.patience_s:
                    raise
                self.say(f"{error}; again in {wait_s:.1f} s")
                self.sleep(wait_s)
                waited_s += wait_s
        raise AssertionError("n_tries is at least 1")

    def _wait_s(self, number: int, asked_s: float | None, rng: random.Random) -> float:
        step_s = min(self.waiting.longest_s, self.waiting.first_s * 2.0 ** (number - 1))
        own_s = step_s * (0.5 + rng.random() / 2)
        return own_s if asked_s is None else max(own_s, asked_s)


def asked_wait_s(headers: dict[str, str], *, now: Callable[[], datetime]) -> float | None:
    """What `Retry-After` asks for, in seconds: a number, or a date, which is read against the server's own `Date` where
    it sends one, so that two clocks that disagree do no harm. None: nothing that can be read."""
    fine = _number(headers.get("retry-after-ms", ""))
    if fine is not None:
        return fine / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    until = _date(text)
    if until is None:
        return None
    return max(0.0, (until - (_date(headers.get("date", "")) or now())).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
