"""How a store behaves at 1,000,000 nodes: rate of insertion, size, and the time of every question the search asks.

    python benchmarks/store_scale.py --nodes 1000000 --store /tmp/scale --out docs/results/store/sqlite.json
    python benchmarks/store_scale.py --nodes 1000000 --store postgresql://user@host/database --out ...
    python benchmarks/store_scale.py --render docs/results/store       # the page from the .json files beside it
    benchmarks/store_scale.sh docs/results/store                       # all of it, with a private PostgreSQL server

Events are made up but have the size and the spread of real ones, and go in through the public `append`, each node's
`proposed` and `judged` in one transaction with `--batch` nodes. Sources are drawn from `--distinct` different ones.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text

from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Event, Judged, Proposed, Settings
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import Comparison, Outcome, ShapeTiming, Stage, Timing, Verdict
from kernelevolve.store import open_store
from kernelevolve.store.base import Store
from kernelevolve.store.place import store_url
from kernelevolve.store.sql import SqlStore
from kernelevolve.testing.samples import sample_opened

TARGET_FRONTIER_MS = 50.0
FAILURES = (Outcome.WRONG, Outcome.BUILD_FAILED, Outcome.CRASHED, Outcome.TIMEOUT)
LINE = "    for (int64_t i = begin; i < end; ++i) out[i] = std::fma(x[i], scale, bias[{}]);\n"


class Maker:
    """Made-up search: most nodes improve one of the recent or the best, some cross two, a third fails."""

    def __init__(self, seed: int, n_distinct: int) -> None:
        self._random = random.Random(seed)
        self._sources = [self._source(number) for number in range(n_distinct)]
        self._shapes = [self._timed_shapes() for _ in range(500)]
        self._task_id = sample_opened().task.content_id
        self._good: list[int] = []

    def pair(self, step: int) -> list[Event]:
        draw = self._random
        candidate = draw.choice(self._sources)
        move = self._move(step)
        judged = self._judged(step, candidate)
        return [Proposed(step=step, move=move, candidate=candidate, elapsed_s=float(step)), judged]

    def _move(self, step: int) -> Move:
        draw = self._random
        if not self._good or draw.random() < 0.002:
            return Move(operator=Operator.DRAFT, reason="a new start")
        pick = draw.choice(self._good[-2000:] if draw.random() < 0.7 else self._good)
        if draw.random() < 0.05:
            return Move(operator=Operator.CROSS, parents=(pick, draw.choice(self._good)), reason="two good ideas")
        return Move(operator=Operator.MUTATE, parents=(pick,), reason="visited 12 times, upper bound 1.83")

    def _judged(self, step: int, candidate: Candidate) -> Judged:
        draw = self._random
        kind = draw.random()
        outcome = Outcome.CORRECT if kind < 0.67 else draw.choice(FAILURES)
        correct = outcome is Outcome.CORRECT
        same_as = draw.randrange(1, step) if correct and step > 1 and kind < 0.07 else None
        if correct and same_as is None:
            self._good.append(step)
        verdict = Verdict(
            task_id=self._task_id, candidate_id=candidate.id, outcome=outcome,
            stage=Stage.MEASURE if correct else Stage.CHECK, n_checks=12 if correct else 0,
            message="" if correct else f"out: 4099 of 65536 wrong at N=65536, worst {draw.random():.3g}",
            timing=self._timing() if correct else None,
        )  # fmt: skip
        return Judged(step=step, verdict=verdict, elapsed_s=step + 0.5, same_as=same_as)

    def _timing(self) -> Timing:
        speedup = self._random.lognormvariate(0.4, 0.5)
        shapes = self._random.choice(self._shapes)
        return Timing(level="screen", shapes=shapes, speedup=speedup, low=speedup * 0.97, high=speedup * 1.03)

    def _timed_shapes(self) -> tuple[ShapeTiming, ...]:
        draw = self._random

        def comparison(name: str) -> Comparison:
            speedup = draw.lognormvariate(0.4, 0.5)
            return Comparison(
                baseline=name, baseline_us=draw.uniform(50, 900), candidate_us=draw.uniform(50, 900), speedup=speedup,
                low=speedup * 0.97, high=speedup * 1.03, log_ratios=tuple(draw.gauss(0, 0.1) for _ in range(8)),
            )  # fmt: skip

        return tuple(
            ShapeTiming(
                shape={"N": size}, latency_us=draw.uniform(50, 900), bytes_moved=size * 8,
                comparisons=(comparison("eager"), comparison("compile")),
            )
            for size in (4099, 65536, 1000003)
        )  # fmt: skip

    def _source(self, number: int) -> Candidate:
        body = "".join(LINE.format(number + line) for line in range(25))
        source = SourceFile(path="kernel.cpp", text=f'// {number}\nextern "C" void run() {{\n{body}}}\n')
        origin = Origin(
            proposer="builtin", recipe=f"recipe_{number % 12}", parameters={"tile": str(number)}, intent="wider tiles"
        )
        return Candidate(language="cpp", files=(source,), flags=("-O3", "-march=native"), origin=origin)


def fill(store: Store, campaign: str, maker: Maker, n_nodes: int, batch: int) -> dict[str, Any]:
    """Insert everything. `making` is the time of making events up, `appending` that of the store."""
    making_s = appending_s = 0.0
    rates = []
    mark, marked_at = 0, 0.0
    for first in range(1, n_nodes + 1, batch):
        started = time.perf_counter()
        events = [event for step in range(first, min(first + batch, n_nodes + 1)) for event in maker.pair(step)]
        made = time.perf_counter()
        store.append(campaign, events)
        making_s, appending_s = making_s + made - started, appending_s + time.perf_counter() - made
        done = min(first + batch - 1, n_nodes)
        if done - mark >= max(50_000, n_nodes // 20) or done == n_nodes:
            rates.append({"nodes": done, "nodes_per_s": round((done - mark) / (appending_s - marked_at), 1)})
            print(f"{done:>9,} nodes, {rates[-1]['nodes_per_s']:>8,} nodes/s appended", flush=True)
            mark, marked_at = done, appending_s
    return {
        "making_s": round(making_s, 1), "appending_s": round(appending_s, 1), "batch_nodes": batch,
        "nodes_per_s": round(n_nodes / appending_s, 1), "over_time": rates,
    }  # fmt: skip


def single_appends(store: Store, maker: Maker, n: int) -> dict[str, float]:
    """One event a transaction, as a campaign writes: milliseconds."""
    campaign = store.open_campaign(sample_opened(name="single"))
    times = []
    for step in range(1, n + 1):
        for event in maker.pair(step):
            started = time.perf_counter()
            store.append(campaign, [event])
            times.append(1e3 * (time.perf_counter() - started))
    return spread(times)


def spread(times_ms: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times_ms)
    return {
        "median_ms": round(statistics.median(ordered), 3),
        "p95_ms": round(ordered[int(0.95 * (len(ordered) - 1))], 3), "max_ms": round(ordered[-1], 3),
    }  # fmt: skip


def ask(store: Store, campaign: str, n_nodes: int, n: int, seed: int) -> dict[str, dict[str, float]]:
    draw = random.Random(seed)

    def step() -> int:
        return draw.randint(1, n_nodes)

    def window() -> None:
        line = [row.step for row in store.lineage(campaign, step())]
        store.children(campaign, [0, *line], limit=5)

    questions: dict[str, Callable[[], object]] = {
        "frontier, 20 best": lambda: store.nodes(campaign, best_first=True, limit=20),
        "frontier, 1000 best": lambda: store.nodes(campaign, best_first=True, limit=1000),
        "page of 50 anywhere": lambda: store.nodes(campaign, start=step() - 1, limit=50),
        "lineage of any step": lambda: store.lineage(campaign, step()),
        "tree window around any step": window,
        "20 best as of any moment": lambda: store.nodes(campaign, best_first=True, limit=20, as_of=2 * step()),
        "page of 50 as of any moment": lambda: store.nodes(campaign, start=step() // 2, limit=50, as_of=2 * step()),
        "all about one step": lambda: store.events_of(campaign, step()),
        "100 changes from anywhere": lambda: store.changes(campaign, 2 * step(), limit=100),
        "list of campaigns": store.campaigns,
    }
    found = {}
    for name, question in questions.items():
        times = []
        for _ in range(n):
            started = time.perf_counter()
            question()
            times.append(1e3 * (time.perf_counter() - started))
        found[name] = spread(times)
        print(f"{name:<30} {found[name]['median_ms']:>9.2f} ms median {found[name]['p95_ms']:>9.2f} ms p95", flush=True)
    return found


def sizes(store: Store, place: str) -> dict[str, int]:
    if store_url(place) and isinstance(store, SqlStore):
        with store._transaction() as connection:
            return {"database_bytes": int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)}
    files = [path for path in Path(place).rglob("*") if path.is_file()]
    database = sum(path.stat().st_size for path in files if path.name.startswith("kernelevolve.db"))
    blobs = [path for path in files if "blobs" in path.parts]
    return {"database_bytes": database, "blob_files": len(blobs), "blob_bytes": sum(p.stat().st_size for p in blobs)}


def render(folder: Path) -> str:
    """The page. What the machine was doing meanwhile is in it: other work makes every number worse."""
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"), reverse=True)]
    head = " | ".join(result["store"] for result in results)
    lines = [
        "# The store at 1,000,000 nodes", "",
        "Written by `benchmarks/store_scale.sh docs/results/store`. One campaign, two events a node, inserted by",
        "the public `append`; sources drawn from a smaller number of different ones, as a row below says: a node with",
        "a source of its own costs one more file (SQLite) or row (PostgreSQL).", "",
        f"| | {head} |", "|---|" + "---|" * len(results),
    ]  # fmt: skip

    def row(title: str, value: Callable[[dict[str, Any]], str]) -> None:
        lines.append(f"| {title} | " + " | ".join(value(result) for result in results) + " |")

    row("nodes", lambda found: f"{found['nodes']:,}")
    row("different sources", lambda found: f"{found['distinct_sources']:,}")
    row("nodes in a transaction", lambda found: f"{found['insert']['batch_nodes']:,}")
    row("inserted, nodes a second", lambda found: f"{found['insert']['nodes_per_s']:,.0f}")
    row("database, GB", lambda found: f"{found['database_bytes'] / 1e9:.2f}")
    row("one event a transaction, ms", lambda found: _both(found["single_append"]))
    for question in results[0]["questions"] if results else ():
        row(f"{question}, ms", lambda found, name=question: _both(found["questions"][name]))  # type: ignore[misc]
    row(
        "load of the machine (its cores)",
        lambda found: f"{found['machine'].get('load', '?')} ({found['machine'].get('cores', '?')})",
    )
    lines += ["", "Times are median / 95th percentile. SQLite syncs the disk at each commit (`synchronous = FULL`),"]
    lines += ["PostgreSQL too (`fsync` and `synchronous_commit` as they are by default).", ""]
    return "\n".join(lines)


def _both(found: dict[str, float]) -> str:
    return f"{found['median_ms']:.2f} / {found['p95_ms']:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--store", help="an empty folder, or postgresql://...")
    parser.add_argument("--render", type=Path, help="only write README.md from the .json files in this folder")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--batch", type=int, default=1000, help="nodes in one transaction")
    parser.add_argument("--distinct", type=int, default=10_000, help="different sources")
    parser.add_argument("--questions", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.render:
        (options.render / "README.md").write_text(render(options.render))
        return 0
    if not options.store:
        parser.error("--store or --render is needed")
    load = os.getloadavg()[0]
    store = open_store(options.store)
    maker = Maker(options.seed, options.distinct)
    single = single_appends(store, maker, 200)
    maker = Maker(options.seed, options.distinct)
    campaign = store.open_campaign(sample_opened(Settings(max_candidates=options.nodes), name="scale"))
    inserted = fill(store, campaign, maker, options.nodes, options.batch)
    stored = sizes(store, options.store)
    answers = ask(open_store(options.store), campaign, options.nodes, options.questions, options.seed)
    result = {
        "store": "postgresql" if store_url(options.store) else "sqlite", "nodes": options.nodes,
        "events": 2 * options.nodes + 1, "distinct_sources": options.distinct, "insert": inserted,
        "single_append": single, **stored, "questions": answers,
        "machine": {
            "python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count(),
            "load": f"{load:.1f} to {os.getloadavg()[0]:.1f}",
        },
    }  # fmt: skip
    print(json.dumps({key: result[key] for key in ("store", "nodes", *stored)}))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if answers["frontier, 20 best"]["median_ms"] < TARGET_FRONTIER_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
