"""`kernelevolve run`: search for a faster kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import (
    DEFAULT_STORE,
    AsksOption,
    BaselineOption,
    BriefTokensOption,
    FitnessOption,
    InjectOption,
    JsonOption,
    KnowledgeOption,
    MemoryOption,
    PlatformOption,
    StoreOption,
    TaskArgument,
    ThreadsOption,
    TokensOption,
    UsdOption,
)
from kernelevolve.interfaces.cli.paths import PathOption, WhereOption

if TYPE_CHECKING:
    from kernelevolve.model.events import Settings


def run(
    task: TaskArgument,
    proposer: Annotated[
        str | None,
        typer.Option(
            "--proposer",
            help="Who writes candidates: builtin, openai:MODEL, anthropic:MODEL, command:FILE.toml, replay:FILE, "
            "mix:A,B. Default: builtin.",
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option("--policy", help="Who picks what to improve: greedy, beam, mcts, islands, portfolio, random."),
    ] = "greedy",
    platform: PlatformOption = "cpu",
    seed: Annotated[int, typer.Option("--seed", help="The same seed makes the same moves.")] = 0,
    max_candidates: Annotated[int, typer.Option("--max-candidates", min=1, help="Stop after this many.")] = 100,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", min=0.001, help="Stop the search after this long.")
    ] = 60.0,
    drafts: Annotated[int, typer.Option("--drafts", min=1, help="Candidates without a parent to start with.")] = 8,
    n_asks: AsksOption = 1,
    fitness: FitnessOption = "speedup",
    memory: MemoryOption = "auto",
    knowledge: KnowledgeOption = "",
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    brief_tokens: BriefTokensOption = 24_000,
    inject_rate: InjectOption = 0.0,
    threads: ThreadsOption = None,
    baseline: BaselineOption = None,
    where: WhereOption = "",
    path: PathOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Search for a faster kernel, measure the best ones again, and prove the winner on sealed shapes."""
    from kernelevolve.interfaces.cli.session import usable_cores
    from kernelevolve.model.events import Settings

    settings = Settings(
        seed=seed, policy=policy, proposer=proposer or ("fake" if platform == "fake" else "builtin"),
        platform=platform, max_candidates=max_candidates, max_seconds=max_seconds, n_drafts=drafts,
        n_threads=threads or usable_cores(), n_asks=n_asks, fitness=fitness, memory=memory, knowledge=knowledge,
        max_usd=max_usd, max_tokens=max_tokens, brief_tokens=brief_tokens, inject_rate=inject_rate,
    )  # fmt: skip
    return _search(settings, task, rivals=baseline or [], where=where, path=path or [], store=store, as_json=as_json)


def _search(
    settings: Settings, task: str, *, rivals: list[Path], where: str, path: list[str], store: Path, as_json: bool
) -> int:
    from datetime import UTC, datetime

    from kernelevolve.campaign.assemble import open_campaign
    from kernelevolve.errors import UsageError
    from kernelevolve.interfaces.cli.candidates import read_baselines
    from kernelevolve.interfaces.cli.drive import drive
    from kernelevolve.interfaces.cli.paths import ShapePath, drive_family, read_paths
    from kernelevolve.model.paths import Where, narrowed
    from kernelevolve.platforms import make_platform
    from kernelevolve.store import open_store
    from kernelevolve.tasks import load_task
    from kernelevolve.tasks.declared import paths_of

    machine, max_seconds = make_platform(settings.platform), settings.max_seconds
    whole = load_task(task, platform=machine.kind)
    baselines = read_baselines(rivals)
    if path and where:
        raise UsageError("--path and --where do not go together: each path says its own shapes")
    paths = read_paths(path, paths_of(task, platform=machine.kind), max_seconds=max_seconds)
    paths = paths or [ShapePath(name="", where=where, max_seconds=max_seconds)]
    parts = {one.name: narrowed(whole, Where.parse(one.where)) for one in paths}
    opened, facts = open_store(store), machine.facts()

    def open_path(one: ShapePath) -> str:
        mine = settings.model_copy(update={"max_seconds": one.max_seconds})
        now = datetime.now(UTC)
        return open_campaign(
            opened, task=parts[one.name], settings=mine, facts=facts, now=now, user_baselines=baselines
        )

    if path:
        return drive_family(opened, paths, open_path, folder=store, as_json=as_json)
    return drive(opened, open_path(paths[0]), folder=store, command="run", as_json=as_json)
