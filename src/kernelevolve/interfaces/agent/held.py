"""The campaigns a server drives: opened when first needed, one driver each, judged in the background."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from kernelevolve.campaign.assemble import open_campaign
from kernelevolve.campaign.driven import Driven
from kernelevolve.campaign.driver_lock import DriverLock
from kernelevolve.campaign.explaining import explain_with_code
from kernelevolve.errors import ClosedError, RecordError, UnknownNameError, UsageError
from kernelevolve.farm.base import Farm
from kernelevolve.interfaces.agent.access import Workshop
from kernelevolve.interfaces.agent.shown import Shown
from kernelevolve.model.events import Opened, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.search import make_policy
from kernelevolve.search.tree import Tree
from kernelevolve.store.base import Store

AGENT = "agent"
JOIN_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Held:
    opened: Opened
    shown: Shown
    driven: Driven
    farm: Farm
    lock: DriverLock

    def close(self) -> None:
        self.driven.close()
        self.farm.close()
        self.driven.join(JOIN_S)
        self.lock.release()


class HeldCampaigns:
    """Safe between threads."""

    def __init__(self, *, store: Store, workshop: Workshop) -> None:
        self._store, self._workshop = store, workshop
        self._held: dict[str, Held] = {}
        self._own: set[str] = set()  # opened or driven by this server: their end may be read
        self._lock = threading.RLock()

    def open(self, task: Task, settings: Settings, facts: PlatformFacts) -> str:
        """A new campaign; its judging thread waits. Returns its id."""
        now = datetime.now(UTC)
        campaign = open_campaign(self._store, task=task, settings=settings, facts=facts, now=now)
        self.drive(campaign)
        return campaign

    def drive(self, campaign: str) -> Held:
        """The campaign, opened again where it has to be. Raises UsageError, ClosedError and BusyError."""
        with self._lock:
            if campaign in self._held and self._held[campaign].driven.broken:
                self._held.pop(campaign).close()
            if campaign not in self._held:
                self._held[campaign] = self._take(campaign)
                self._own.add(campaign)
            return self._held[campaign]

    def ids(self) -> list[str]:
        """Campaigns an agent may name."""
        return [row.id for row in self._store.campaigns() if self._may_name(row.id, row.closed)]

    @contextmanager
    def tree(self, campaign: str) -> Iterator[tuple[Tree, Shown]]:
        """For reading, driven here or not."""
        with self._lock:
            held = self._held.get(campaign)
        if held is not None:
            with held.driven.reading:
                yield held.driven.tree, held.shown
            return
        tree = Tree(self._store.read(self._known(campaign)))
        if tree.opened is None:
            raise RecordError(f"campaign {campaign} has no first event")
        yield tree, Shown(tree.opened.task)

    def held(self, campaign: str) -> Held | None:
        with self._lock:
            return self._held.get(campaign)

    @property
    def busy(self) -> bool:
        with self._lock:
            held = list(self._held.values())
        return any(each.driven.busy for each in held)

    def close(self) -> None:
        with self._lock:
            held, self._held = list(self._held.values()), {}
        for each in held:
            each.close()

    def _take(self, campaign: str) -> Held:
        self._known(campaign)
        lock = DriverLock(self._workshop.folder, campaign)
        try:
            tree = Tree(self._store.read(campaign))
            opened = tree.opened
            if opened is None or opened.settings.proposer != AGENT:
                raise UsageError(f"campaign {campaign} is not driven by an agent; open one of your own")
            if tree.closed is not None:
                raise ClosedError(f"campaign {campaign} is closed: {tree.closed.reason}")
            farm = self._workshop.make_farm(opened.settings, self._workshop.cache)
            driven = Driven(
                store=self._store, campaign_id=campaign, farm=farm, clock=self._workshop.clock,
                policy=make_policy(opened.settings.policy, opened.settings),
                explain=partial(explain_with_code, cache=self._workshop.cache),
            )  # fmt: skip
        except BaseException:
            lock.release()
            raise
        return Held(opened=opened, shown=Shown(opened.task), driven=driven, farm=farm, lock=lock)

    def _known(self, campaign: str) -> str:
        ids = self.ids()
        if campaign not in ids:
            raise UnknownNameError("campaign", campaign, ids)
        return campaign

    def _may_name(self, campaign: str, closed: bool) -> bool:
        """Other people's searches and their winners are not an agent's business, unless its server was told so."""
        if self._workshop.access.allow_campaigns or campaign in self._own:
            return True
        if closed:
            return False
        first = self._store.read(campaign)[0]
        return isinstance(first, Opened) and first.settings.proposer == AGENT
