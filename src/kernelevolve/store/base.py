"""The contract of a store: an append-only log of events per campaign, and blobs by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernelevolve.model.events import Event, Opened
from kernelevolve.model.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class CampaignRow:
    """`task_id`, `family`, `dtype` and `platform` are empty where an old file had lost its task."""

    id: str
    task_name: str
    created: str  # UTC, ISO 8601
    n_events: int
    closed: bool
    task_id: str = ""
    family: str = ""
    dtype: str = ""
    platform: str = ""
    winner: int | None = None


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
    score: float | None = None  # ln of `low`; None unless correct, measured and no repeat
    language: str = ""
    recipe: str = ""
    ask: int | None = None
    born: int = 0  # number of the event that proposed it
    judged_at: int | None = None  # number of the event that judged it

    @property
    def parent(self) -> int:
        """The first parent, 0 for a draft."""
        return self.parents[0] if self.parents else 0


@dataclass(frozen=True, kw_only=True)
class Children:
    """The best children of a node, and how many it has in all."""

    rows: tuple[NodeRow, ...]
    n_total: int


@dataclass(frozen=True, kw_only=True)
class Change:
    """One line of a campaign's change log. `slot` is the step, question or call it is about, 0 for the campaign."""

    seq: int
    kind: str
    slot: int


class Store(Protocol):
    """Safe to use from several processes at once. Nothing that was appended ever changes or goes away.

    Every method raises RecordError when what is stored cannot be read, and MachineError when the disk or the server
    fails. A moment of a campaign is named by the number of events before it: `as_of=n` sees events 0 to n - 1.
    """

    def open_campaign(self, opened: Opened) -> str:
        """Start a campaign with `opened` as its first event. Returns its id, such as `map_id-3f9a2c`."""
        ...

    def adopt(self, campaign_id: str, events: Iterable[Event]) -> str:
        """A campaign from elsewhere with all its events, or nothing. Returns the id it got: `campaign_id`, or a new
        one when that is taken. Its secret is a new one. Raises UsageError as `append` does."""
        ...

    def append(self, campaign_id: str, events: Sequence[Event], *, token: int | None = None) -> None:
        """All of `events` or none. Raises UsageError for an unknown or closed campaign, for a second event of one
        kind on one step, and for an event on a step that was never proposed; ClaimError when `token` is given and
        another process has taken the campaign over since."""
        ...

    def claim(self, campaign_id: str, owner: str, *, lease_s: float = 60.0) -> int:
        """The right to write, for `lease_s` from now: a token for `append`. The owner may claim again at any time to
        stay the owner and keeps its token; once the lease is over anyone may, and gets a higher token. Raises
        ClaimError while another owner holds it, UsageError for an unknown campaign. `owner` names one run of one
        process."""
        ...

    def release(self, campaign_id: str, token: int) -> None:
        """End the lease now. Nothing happens when `token` is no longer the current one."""
        ...

    def read(self, campaign_id: str, start: int = 0, stop: int | None = None) -> list[Event]:
        """Events from number `start` (0 is `Opened`) to before `stop`, in order, equal to what was appended."""
        ...

    def events_of(self, campaign_id: str, step: int) -> list[Event]:
        """What is known of one step: its Proposed, Judged, Diagnosed, Confirmed and Sealed, in the order of their
        numbers. Empty for a step that was never proposed."""
        ...

    def changes(self, campaign_id: str, start: int = 0, *, limit: int | None = None) -> list[Change]:
        """The change log from event number `start` on, without the contents."""
        ...

    def nodes(
        self,
        campaign_id: str,
        *,
        best_first: bool = False,
        start: int = 0,
        limit: int | None = None,
        as_of: int | None = None,
    ) -> list[NodeRow]:
        """One row per step. `best_first`: only correct and measured ones, no repeats, highest score first. `as_of`:
        as the rows were at that moment."""
        ...

    def lineage(self, campaign_id: str, step: int) -> list[NodeRow]:
        """From a draft down to `step`, along first parents. Raises UsageError for a step that does not exist."""
        ...

    def children(self, campaign_id: str, steps: Sequence[int], *, limit: int) -> Mapping[int, Children]:
        """Of each of `steps` (0: the drafts) the `limit` best nodes with it as first parent; unmeasured ones come
        last. Every one of `steps` is in the answer."""
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
