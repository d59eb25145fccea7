"""Events to rows and back. Candidates and tasks are kept once, as blobs; a row refers to them by hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError

from kernelevolve.errors import RecordError
from kernelevolve.model.events import Event, event_from_json
from kernelevolve.model.value import canonical_json, explain

_BIG_FIELDS = ("task", "candidate", "user_baselines", "answer")


def to_body(event: Event, put: Callable[[bytes], str]) -> str:
    """Canonical JSON with each big field replaced by `{"blob": sha256}`; `put` stores a blob."""
    data = event.model_dump(mode="json")
    for name in _BIG_FIELDS:
        if data.get(name):
            data[name] = {"blob": put(canonical_json(data[name]).encode())}
    return canonical_json(data)


def to_bodies(events: Iterable[Event]) -> tuple[list[str], dict[str, bytes]]:
    """The bodies of all of `events`, and the blobs they refer to, by name."""
    blobs: dict[str, bytes] = {}

    def keep(data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        blobs[name] = data
        return name

    return [to_body(event, keep) for event in events], blobs


def from_body(body: str, get: Callable[[str], bytes]) -> Event:
    """The event `to_body` was given. Raises RecordError."""
    try:
        data: dict[str, Any] = json.loads(body)
        for name in _BIG_FIELDS:
            if data.get(name):
                data[name] = json.loads(get(data[name]["blob"]))
        return event_from_json(canonical_json(data))
    except ValidationError as error:
        raise RecordError(f"a stored event is not what its schema says: {explain(error)}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordError(f"a stored event cannot be read: {error!r}") from error
