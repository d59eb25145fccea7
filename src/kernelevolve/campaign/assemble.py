"""From names to objects: the settings of a campaign made into the parts that the loop needs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kernelevolve.campaign.budget import Clock
from kernelevolve.campaign.explaining import explain_with_code
from kernelevolve.campaign.listeners import Listener
from kernelevolve.campaign.loop import Explain, run_campaign
from kernelevolve.errors import RecordError
from kernelevolve.farm import make_farm
from kernelevolve.farm.base import Farm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Closed, Opened, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer
from kernelevolve.search import make_policy
from kernelevolve.search.base import Policy
from kernelevolve.store.base import Store


@dataclass(frozen=True, kw_only=True)
class Parts:
    proposer: Proposer
    policy: Policy
    farm: Farm


def assemble(settings: Settings, *, cache_dir: Path) -> Parts:
    """Nothing is started yet. Raises UsageError for a name that is in no table."""
    farm = "fake" if settings.platform == "fake" else "process"
    return Parts(
        proposer=make_proposer(settings.proposer),
        policy=make_policy(settings.policy, settings),
        farm=make_farm(farm, n_threads=settings.n_threads, cache_dir=cache_dir),
    )


def open_campaign(
    store: Store,
    *,
    task: Task,
    settings: Settings,
    facts: PlatformFacts,
    now: datetime,
    user_baselines: Sequence[Candidate] = (),
) -> str:
    """Record the start of a campaign; returns its id. Names in `settings` are checked first. `now` has a zone."""
    make_proposer(settings.proposer)
    make_policy(settings.policy, settings)
    opened = Opened(
        task=task,
        settings=settings,
        facts=facts,
        user_baselines=tuple(user_baselines),
        time=now.astimezone(UTC).isoformat(timespec="seconds"),
    )
    return store.open_campaign(opened)


def continue_campaign(
    store: Store,
    campaign_id: str,
    *,
    cache_dir: Path,
    listeners: Sequence[Listener] = (),
    clock: Clock = time.monotonic,
    explain: Explain | None = None,
) -> Closed:
    """Run a campaign, new or interrupted, with the settings it was opened with. See `run_campaign`. `explain` is by
    default the roofline's, with the machine code beside it."""
    opened = store.read(campaign_id)[0]
    if not isinstance(opened, Opened):
        raise RecordError(f"campaign {campaign_id} does not start with its opening")
    parts = assemble(opened.settings, cache_dir=cache_dir)
    with closing(parts.farm):
        return run_campaign(
            store=store,
            campaign_id=campaign_id,
            proposer=parts.proposer,
            policy=parts.policy,
            farm=parts.farm,
            listeners=listeners,
            clock=clock,
            explain=explain or partial(explain_with_code, cache=cache_dir),
        )
