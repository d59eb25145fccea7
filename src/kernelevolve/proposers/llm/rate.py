"""Requests and tokens per minute, per endpoint: a bucket that fills with time and may be overdrawn by what a call
turned out to take."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock


class Rate:
    """Per minute; None: no limit. Safe to use from several threads: sleeping is done outside the lock."""

    def __init__(
        self, *, requests: float | None = None, tokens: float | None = None, clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:  # fmt: skip
        self._per_s = {"requests": (requests or 0.0) / 60, "tokens": (tokens or 0.0) / 60}
        self._limited = [name for name, limit in (("requests", requests), ("tokens", tokens)) if limit]
        self._level = {"requests": requests or 0.0, "tokens": tokens or 0.0}
        self._full = dict(self._level)
        self._clock = clock
        self._sleep = sleep
        self._filled_at = clock()
        self._lock = Lock()

    def wait(self, tokens: int) -> None:
        """Until one request of about so many tokens fits. A request larger than the bucket waits for a full one."""
        while True:
            with self._lock:
                wait_s = self._missing_s({"requests": 1.0, "tokens": float(tokens)})
                if wait_s <= 0:
                    self._level["requests"] -= 1.0
                    self._level["tokens"] -= tokens
                    return
            self._sleep(wait_s)

    def correct(self, tokens: int) -> None:
        """By so many tokens more (or, negative, fewer) than were waited for."""
        with self._lock:
            self._level["tokens"] -= tokens

    def _missing_s(self, wanted: dict[str, float]) -> float:
        now = self._clock()
        for name in self._limited:
            gained = (now - self._filled_at) * self._per_s[name]
            self._level[name] = min(self._full[name], self._level[name] + gained)
        self._filled_at = now
        missing = {name: min(wanted[name], self._full[name]) - self._level[name] for name in self._limited}
        return max((missing[name] / self._per_s[name] for name in self._limited if missing[name] > 1e-9), default=0.0)


class Rates:
    """One `Rate` for each address, whoever asks: two models behind one address share its limit."""

    def __init__(self) -> None:
        self._rates: dict[object, Rate] = {}
        self._lock = Lock()

    def of(
        self, url: str, *, requests: float | None, tokens: float | None, clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> Rate:  # fmt: skip
        with self._lock:
            key = (url, requests, tokens, clock, sleep)
            if key not in self._rates:
                self._rates[key] = Rate(requests=requests, tokens=tokens, clock=clock, sleep=sleep)
            return self._rates[key]


SHARED = Rates()
