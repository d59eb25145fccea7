"""Campaigns of all policies and memories on measured landscapes: the real loop, a table for a farm."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from search_tasks import BASELINES, N_THREADS, CountableProposer, narrow_task

from kernelevolve.campaign.loop import run_campaign
from kernelevolve.diagnosis.explain import explain
from kernelevolve.farm.base import Farm
from kernelevolve.model.brief import Memory
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.events import Opened, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import Verdict
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer
from kernelevolve.search import make_policy
from kernelevolve.search.tree import Tree
from kernelevolve.store import open_store
from kernelevolve.store.base import Store
from kernelevolve.store.memory import MemoryStore

POLICIES = ("random", "greedy", "beam", "mcts", "islands", "portfolio")
MEMORIES = ("auto", *(memory.value for memory in Memory))
BUDGET = 32
CHECKPOINTS = (8, 16, 24, 32)
POOL_SIZE, POOL_SEED = 96, 1000
"""A pool is the campaign of the random policy, which prefers nothing, three times as long as what is compared on it."""


class Row(Value):
    """One campaign."""

    task: str
    proposer: str
    policy: str
    memory: str
    seed: int
    steps: tuple[str, ...]
    """The candidate of each step, by the first 16 digits of its id."""
    leaders: tuple[str, ...]
    """Which candidate was the best by its screen after each step; empty while none was correct."""
    n_failed: int
    n_repeats: int

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.task, self.proposer, self.policy, self.memory, self.seed


def configurations() -> Iterator[tuple[str, str, str]]:
    """Proposer, policy, memory. A replay reads no memory, so it is compared with one only."""
    for policy in POLICIES:
        for memory in MEMORIES:
            yield "builtin", policy, memory
    for policy in POLICIES:
        yield "replay_tree", policy, "auto"


def settings_of(policy: str, memory: str, seed: int, *, budget: int = BUDGET) -> Settings:
    """One finalist: the number a campaign ends with is then measured anew and chosen by nothing."""
    return Settings(
        seed=seed, policy=policy, memory=memory, proposer="builtin", platform="cpu", max_candidates=budget,
        max_seconds=1e9, n_threads=N_THREADS, baselines=BASELINES, n_finalists=1,
    )  # fmt: skip


def run_one(
    store: Store, farm: Farm, task_name: str, settings: Settings, facts: PlatformFacts, proposer: Proposer
) -> tuple[str, Tree]:
    opened = Opened(task=narrow_task(task_name), settings=settings, facts=facts, time="2026-01-01T00:00:00+00:00")
    campaign = store.open_campaign(opened)
    run_campaign(
        store=store, campaign_id=campaign, proposer=proposer, policy=make_policy(settings.policy, settings), farm=farm,
        clock=lambda: 0.0, explain=_explained,
    )  # fmt: skip
    return campaign, Tree(store.read(campaign))


def _explained(verdict: Verdict, opened: Opened, candidate: Candidate) -> Diagnosis | None:
    return explain(verdict, opened.facts)


def row_of(tree: Tree, task_name: str, proposer: str) -> Row:
    assert tree.opened is not None
    settings = tree.opened.settings
    leaders: list[str] = []
    best: tuple[float, str] = (0.0, "")
    for node in tree.nodes:
        timing = node.verdict.timing if node.verdict else None
        if timing is not None and timing.low > best[0]:
            best = timing.low, short(node.candidate)
        leaders.append(best[1])
    return Row(
        task=task_name, proposer=proposer, policy=settings.policy, memory=settings.memory, seed=settings.seed,
        steps=tuple(short(node.candidate) for node in tree.nodes), leaders=tuple(leaders),
        n_failed=sum(node.verdict is not None and not node.verdict.correct for node in tree.nodes),
        n_repeats=sum(node.same_as is not None for node in tree.nodes),
    )  # fmt: skip


def short(candidate: Candidate) -> str:
    return candidate.id[:16]


def a_store() -> MemoryStore:
    """With one secret for all campaigns, so that the judge draws its inputs once."""
    return MemoryStore(random_bytes=lambda n: bytes(n))


def record_pool(work: Path, farm: Farm, task_name: str, facts: PlatformFacts) -> Path:
    """A campaign's proposals as `kernelevolve record` writes them."""
    file = work / "pools" / f"{task_name}.jsonl"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        folder = work / "pools" / f"{task_name}.store"
        settings = settings_of("random", "auto", POOL_SEED, budget=POOL_SIZE)
        campaign, _ = run_one(open_store(folder), farm, task_name, settings, facts, CountableProposer())
        command = [sys.executable, "-m", "kernelevolve.interfaces.cli.main", "record", campaign, str(file)]
        subprocess.run([*command, "--store", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return file


def read_rows(file: Path) -> list[Row]:
    """A last line that was cut short is left out."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [Row.from_json(line) for line in lines if line.endswith("\n")]


def run_all(
    work: Path, farm: Farm, task_name: str, facts: PlatformFacts, seeds: range, rows: Path
) -> Iterator[Row]:  # fmt: skip
    """What is not in the file `rows` yet; each row is appended to it."""
    known = {row.key for row in read_rows(rows)}
    pool = record_pool(work, farm, task_name, facts)
    proposers: dict[str, Proposer] = {
        "builtin": CountableProposer(), "replay_tree": make_proposer(f"replay_tree:{pool}")
    }  # fmt: skip
    for seed in seeds:
        for kind, policy, memory in configurations():
            if (task_name, kind, policy, memory, seed) in known:
                continue
            settings = settings_of(policy, memory, seed)
            _, tree = run_one(a_store(), farm, task_name, settings, facts, proposers[kind])
            row = row_of(tree, task_name, kind)
            with rows.open("a") as file:
                file.write(row.to_json() + "\n")
            yield row
