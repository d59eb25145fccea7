"""Small parts for tests of the agent protocol: a service over a temporary store, and eyes that look for leaks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelevolve.farm.base import Farm
from kernelevolve.farm.fake import FakeFarm
from kernelevolve.interfaces.agent.access import Access, Workshop
from kernelevolve.interfaces.agent.service import Service
from kernelevolve.store import open_store

TASKS = Path(__file__).parents[2] / "hostile"
ROW_SCALE = str(TASKS / "row_scale")
HIDDEN = {300, 257, 311, 250, 77100, 77750, 308400, 311000, 617828, 623000, 309428, 312000}
"""Sizes that only hidden shapes of row_scale have, the products of them, and bytes that follow."""
WORDS = (
    "log_ratios",
    "latency_us",
    "candidate_us",
    "baseline_us",
    "slope_us",
    "make_inputs",
    "bytes_moved",
    '"output"',
)


class Session:
    """Calls a service and keeps every answer, as the agent got it."""

    def __init__(self, call: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        self._call = call
        self.answers: list[dict[str, Any]] = []

    def __call__(self, verb: str, **given: Any) -> dict[str, Any]:
        answered = self._call(verb, given)
        self.answers.append(answered)
        assert answered["v"] == 1
        return answered

    def ok(self, verb: str, **given: Any) -> dict[str, Any]:
        answered = self(verb, **given)
        assert "error" not in answered, answered
        return answered

    def error(self, verb: str, **given: Any) -> tuple[str, str]:
        error = self(verb, **given)["error"]
        assert error["fix"]
        return error["kind"], error["message"]

    def wait(self, handle: str, *, n: int = 100) -> dict[str, Any]:
        for _ in range(n):
            answered = self.ok("job", handle=handle)
            if answered["state"] not in ("queued", "running"):
                return answered
        raise AssertionError(f"{handle} is never done: {answered}")


def workshop(folder: Path, *, farm: Callable[[], Farm] | None = None, **access: Any) -> Workshop:
    access.setdefault("task_folders", (TASKS,))
    return Workshop(
        folder=folder / "store", cache=folder / "cache", access=Access(**access),
        make_farm=lambda settings, cache: farm() if farm else FakeFarm(),
    )  # fmt: skip


def session(service: Service) -> Session:
    return Session(service.call)


def opened(agent: Session, **settings: Any) -> str:
    return str(agent.ok("open_campaign", task=ROW_SCALE, platform="fake", settings=settings)["campaign"])


def number(n: int) -> dict[str, str]:
    """A candidate of the fake language: about a quarter of them fail."""
    return {"row_scale.fake": f"row_scale\nvalue = {n}\n"}


def leaks(answers: list[dict[str, Any]], folder: Path, *, hidden: set[int] = HIDDEN) -> list[str]:
    """What should not be there: hidden sizes as whole numbers, forbidden words, the campaigns' secrets."""
    text = json.dumps(answers)
    store = open_store(folder / "store")
    secrets = [store.secret(row.id) for row in store.campaigns()]
    found = [word for word in (*WORDS, *secrets) if word in text]
    spoken = {int(each) for each in re.findall(r"(?<![\d.#])\d+(?![\d.])", text)}
    return [*found, *map(str, sorted(spoken & hidden))]
