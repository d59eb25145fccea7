"""Who wants to know what a campaign is doing."""

from __future__ import annotations

from typing import Protocol

from kernelevolve.model.events import Event


class Listener(Protocol):
    """Called one at a time and in order, though not always from the same thread: what calls to models cost is recorded
    where they are made. What a listener raises ends the run (the campaign can be resumed). Events of earlier runs are
    not repeated: read them from the store."""

    def on_event(self, event: Event) -> None:
        """`event` is in the store already."""
        ...

    def on_status(self, text: str) -> None:
        """What is being done at the moment, one line. Not part of the record."""
        ...
