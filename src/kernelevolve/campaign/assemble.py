"""From names to objects: the settings of a campaign made into the parts that the loop needs."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from kernelevolve.campaign.budget import Clock
from kernelevolve.campaign.explaining import explain_with_code
from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.ledger import EventLedger
from kernelevolve.campaign.listeners import Listener
from kernelevolve.campaign.loop import Explain, run_journal
from kernelevolve.farm import make_farm
from kernelevolve.farm.base import Farm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Closed, Opened, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer, Tools
from kernelevolve.search import make_policy
from kernelevolve.search.base import Policy
from kernelevolve.store.base import Store
from kernelevolve.store.near import NearWinner, near_winners


@dataclass(frozen=True, kw_only=True)
class Parts:
    proposer: Proposer
    policy: Policy
    farm: Farm


def assemble(settings: Settings, *, cache_dir: Path, tools: Tools | None = None) -> Parts:
    """Nothing is started yet. `tools` are the proposer's. Raises UsageError for a name that is in no table."""
    farm = "fake" if settings.platform == "fake" else "process"
    return Parts(
        proposer=make_proposer(settings.proposer, tools),
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
        judge=judge_version(),
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
    environ: Mapping[str, str] | None = None,
    transcripts: Path | None = None,
) -> Closed:
    """Run a campaign, new or interrupted, with the settings it was opened with. See `run_campaign`. `explain` is by
    default the roofline's, with the machine code beside it; `environ`, where keys and addresses of models are looked
    up, this process's; `transcripts` a folder for what commands print."""
    journal = Journal(store=store, campaign_id=campaign_id, listeners=listeners, clock=clock)
    settings = journal.settings
    tools = Tools(
        ledger=EventLedger(journal),
        environ=dict(os.environ) if environ is None else environ,
        say=journal.say,
        brief_tokens=settings.brief_tokens,
        transcripts=transcripts,
    )
    if journal.opened.judge not in ("", judge_version()):
        journal.say(
            f"opened under judge {journal.opened.judge}, this is {judge_version()}: earlier verdicts were another "
            "judge's; finalists are measured anew"
        )
    parts = assemble(settings, cache_dir=cache_dir, tools=tools)
    with closing(parts.farm):
        return run_journal(
            journal,
            proposer=parts.proposer,
            policy=parts.policy,
            farm=parts.farm,
            explain=explain or partial(explain_with_code, cache=cache_dir),
            winners=winners_elsewhere(store, campaign_id, journal.opened),
        )


def judge_version() -> str:
    """Of the installed package, with a hash of the judge's own sources: a change there is another judge."""
    folder = Path(__file__).parents[1] / "evaluation"
    sources = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".cpp", ".h"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    return f"{version('kernelevolve')}+{digest}"


def winners_elsewhere(store: Store, campaign_id: str, opened: Opened) -> list[Candidate]:
    """What won on near tasks in the same store, the best first, each saying where it comes from. None unless the
    settings want some of it."""
    if not opened.settings.inject_rate:
        return []
    return [
        _from_elsewhere(near)
        for near in near_winners(store, opened.task, opened.settings.platform, exclude=(campaign_id,))
    ]


def _from_elsewhere(near: NearWinner) -> Candidate:
    origin = near.candidate.origin
    where = f"step {near.step} of {near.campaign_id} ({near.task_name})"
    intent = f"{where}: {origin.intent}" if origin.intent else where
    return near.candidate.model_copy(update={"origin": origin.model_copy(update={"intent": intent})})
