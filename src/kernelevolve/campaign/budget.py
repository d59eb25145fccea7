"""Time used by a campaign, over all its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Clock = Callable[[], float]
"""Seconds from any start, never going back, such as `time.monotonic`."""


class Stopwatch:
    """Goes on from `used_s`, what earlier runs had used when they recorded their last event."""

    def __init__(self, *, used_s: float, clock: Clock) -> None:
        self._used_s = used_s
        self._clock = clock
        self._started = clock()
        self._stopped_s: float | None = None

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Time spent inside is nobody's: the watch stands still, for other threads too."""
        started = self._clock()
        self._stopped_s = started
        try:
            yield
        finally:
            self._started += self._clock() - started
            self._stopped_s = None

    @property
    def elapsed_s(self) -> float:
        stopped_s = self._stopped_s
        return self._used_s + (self._clock() if stopped_s is None else stopped_s) - self._started
