"""The contract of a store: an append-only log of events per campaign, and blobs by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kernelevolve.model.events import Event, Opened
from kernelevolve.model.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class CampaignRow:
    id: str
    task_name: str
    created: str  # UTC, ISO 8601
    n_events: int
    closed: bool


@dataclass(frozen=True, kw_only=True)
class NodeRow:
    """One proposed candidate. A projection of the events, there so that lists need not read every event."""

    step: int
    candidate_id: str
    operator: str
    parents: tuple[int, ...]
    outcome: Outcome | None = None  # None: not judged yet
    same_as: int | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None


class Store(Protocol):
    """Safe to use from several processes at once. Nothing that was appended ever changes or goes away.

    Every method raises RecordError when what is stored cannot be read, and MachineError when the disk fails.
    """

    def open_campaign(self, opened: Opened) -> str:
        """Start a campaign with `opened` as its first event. Returns its id, such as `map_id-3f9a2c`."""
        ...

    def append(self, campaign_id: str, events: Sequence[Event]) -> None:
        """All of `events` or none. Raises UsageError for an unknown or closed campaign, for a second event of one
        kind on one step, and for an event on a step that was never proposed."""
        ...

    def read(self, campaign_id: str, start: int = 0) -> list[Event]:
        """Events from number `start` (0 is `Opened`) on, in order, equal to what was appended."""
        ...

    def nodes(
        self, campaign_id: str, *, best_first: bool = False, start: int = 0, limit: int | None = None
    ) -> list[NodeRow]:
        """One row per step. `best_first`: only correct and measured ones, no repeats, highest lower bound first."""
        ...

    def campaigns(self) -> list[CampaignRow]:
        """Oldest first."""
        ...

    def resolve(self, prefix: str) -> str:
        """The id that starts with `prefix`; "latest" is the newest. Raises UsageError when none or several do."""
        ...

    def secret(self, campaign_id: str) -> str:
        """Hex digits drawn when the campaign was opened. In no event and no export: it seeds the judge's inputs."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Returns the sha256 of `data`, which is its name."""
        ...

    def get_blob(self, sha256: str) -> bytes:
        """Raises UsageError when there is no such blob, RecordError when its content is not what its name says."""
        ...
