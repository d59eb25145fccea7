"""Calls that run beside the loop. Each has a daemon thread of its own, so that one which never returns holds nobody
up: neither the loop, which may stop waiting for it, nor the end of the process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


class Outcome(Generic[Result]):
    """What became of a call. As a context manager it carries whatever the call raises to the thread that asks for
    `value`: nothing is swallowed."""

    def __init__(self) -> None:
        self._error: BaseException | None = None
        self._value: list[Result] = []

    def __enter__(self) -> Outcome[Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._error = error
        return True

    @property
    def failed(self) -> bool:
        return self._error is not None

    def returned(self, value: Result) -> None:
        self._value.append(value)

    def value(self) -> Result:
        if self._error is not None:
            raise self._error
        return self._value[0]


def outcome_of(call: Callable[[], Result]) -> Outcome[Result]:
    with Outcome[Result]() as outcome:
        outcome.returned(call())
    return outcome


class Background(Generic[Key, Result]):
    """Only the thread that made it uses it; `done` is told of each call that ended."""

    def __init__(self, done: threading.Event) -> None:
        self._done = done
        self._ended: queue.SimpleQueue[tuple[Key, Outcome[Result]]] = queue.SimpleQueue()
        self.running: dict[Key, None] = {}

    def start(self, key: Key, call: Callable[[], Result]) -> None:
        def run() -> None:
            self._ended.put((key, outcome_of(call)))
            self._done.set()

        self.running[key] = None
        threading.Thread(target=run, daemon=True).start()

    def ended(self) -> list[tuple[Key, Outcome[Result]]]:
        """What has ended since the last look, in the order in which it did. What was dropped is left out."""
        found = []
        while not self._ended.empty():
            key, outcome = self._ended.get()
            if key in self.running:
                del self.running[key]
                found.append((key, outcome))
        return found

    def drop(self, key: Key) -> None:
        """Whatever it brings is not wanted any more."""
        del self.running[key]
