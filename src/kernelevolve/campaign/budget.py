"""Time used by a campaign, over all its runs."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds from any start, never going back, such as `time.monotonic`."""


class Stopwatch:
    """Goes on from `used_s`, what earlier runs had used when they recorded their last event."""

    def __init__(self, *, used_s: float, clock: Clock) -> None:
        self._used_s = used_s
        self._clock = clock
        self._started = clock()

    @property
    def elapsed_s(self) -> float:
        return self._used_s + self._clock() - self._started
