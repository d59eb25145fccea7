"""`kernelevolve run`: search for a faster kernel."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelevolve.interfaces.cli.options import (
    DEFAULT_STORE,
    BaselineOption,
    JsonOption,
    PlatformOption,
    StoreOption,
    TaskArgument,
    ThreadsOption,
)


def run(
    task: TaskArgument,
    proposer: Annotated[
        str | None,
        typer.Option("--proposer", help="Who writes candidates: builtin, fake, replay:FILE. Default: builtin."),
    ] = None,
    policy: Annotated[str, typer.Option("--policy", help="Who picks what to improve: greedy, uct, random.")] = "greedy",
    platform: PlatformOption = "cpu",
    seed: Annotated[int, typer.Option("--seed", help="The same seed makes the same moves.")] = 0,
    max_candidates: Annotated[int, typer.Option("--max-candidates", min=1, help="Stop after this many.")] = 100,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", min=0.001, help="Stop the search after this long.")
    ] = 60.0,
    drafts: Annotated[int, typer.Option("--drafts", min=1, help="Candidates without a parent to start with.")] = 8,
    threads: ThreadsOption = None,
    baseline: BaselineOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Search for a faster kernel, measure the best ones again, and prove the winner on sealed shapes."""
    from datetime import UTC, datetime

    from kernelevolve.campaign.assemble import open_campaign
    from kernelevolve.interfaces.cli.candidates import read_baselines
    from kernelevolve.interfaces.cli.drive import drive
    from kernelevolve.interfaces.cli.session import usable_cores
    from kernelevolve.model.events import Settings
    from kernelevolve.platforms import make_platform
    from kernelevolve.store import open_store
    from kernelevolve.tasks import load_task

    machine = make_platform(platform)
    settings = Settings(
        seed=seed, policy=policy, proposer=proposer or ("fake" if platform == "fake" else "builtin"),
        platform=platform, max_candidates=max_candidates, max_seconds=max_seconds, n_drafts=drafts,
        n_threads=threads or usable_cores(),
    )  # fmt: skip
    loaded = load_task(task, platform=machine.kind)
    rivals = read_baselines(baseline or [])
    opened = open_store(store)
    campaign_id = open_campaign(
        opened, task=loaded, settings=settings, facts=machine.facts(), now=datetime.now(UTC), user_baselines=rivals
    )
    return drive(opened, campaign_id, folder=store, command="run", as_json=as_json)
