"""One thing at a time where it matters: builds may run beside each other, timing runs alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Lane:
    """Many builders or one timer. A waiting timer holds new builders back, so that it is never starved."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._builders = 0
        self._timers = 0

    @contextmanager
    def building(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: self._timers == 0)
            self._builders += 1
        try:
            yield
        finally:
            with self._condition:
                self._builders -= 1
                self._condition.notify_all()

    @contextmanager
    def timing(self, *, alone: bool = True) -> Iterator[None]:
        """`alone`: by a clock that compilers beside it disturb; a device's own is none."""
        if not alone:
            yield
            return
        with self._condition:
            self._timers += 1
            self._condition.wait_for(lambda: self._builders == 0)
        try:
            yield
        finally:
            with self._condition:
                self._timers -= 1
                self._condition.notify_all()
