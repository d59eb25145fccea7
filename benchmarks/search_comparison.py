"""All search policies and memories at the same budget, on landscapes that the real judge measured once.

    python benchmarks/search_comparison.py measure   [--tasks ..]          # the long one: judges every candidate
    python benchmarks/search_comparison.py campaigns [--tasks ..] --seeds 10
    python benchmarks/search_comparison.py confirm   [--tasks ..]          # second measurement of every leader
    python benchmarks/search_comparison.py report    [--tasks ..]          # tables and figure

Each goes on where an earlier run was stopped. Everything lies in --work: the table of verdicts, the rows of the
campaigns, the recorded pools. `report` writes to --out.
"""

from __future__ import annotations

import argparse
import gzip
import math
import statistics
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from search_campaigns import BUDGET, CHECKPOINTS, MEMORIES, POLICIES, Row, read_rows, run_all, short
from search_figure import Box, curves, dots, page, text
from search_measure import Jobs, every_candidate, fill, measure, open_pool, open_table, width
from search_statistics import Summary, Values, best_known, score_at, summary
from search_tasks import SHAPES, one_core

from kernelevolve.farm.recorded import RecordedFarm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.platforms import make_platform
from kernelevolve.toolchains.cache import default_cache

REFERENCE = ("greedy", "auto")
N_TOP = 12


def stage_measure(options: argparse.Namespace, facts: PlatformFacts) -> None:
    with closing(open_pool(options.work, options.cache, options.tries)) as pool:
        for name in options.tasks * options.tries:
            print(fill(pool, name, facts), flush=True)


def stage_campaigns(options: argparse.Namespace, facts: PlatformFacts) -> None:
    rows = options.work / "campaigns.jsonl"
    with closing(open_table(options.work, options.cache, options.tries)) as farm:
        for name in options.tasks:
            n = sum(1 for _ in run_all(options.work, farm, name, facts, range(options.seeds), rows))
            print(f"{name}: {n} campaigns, {farm.n_judged} jobs had to be judged so far", flush=True)


def stage_confirm(options: argparse.Namespace, facts: PlatformFacts) -> None:
    rows = read_rows(options.work / "campaigns.jsonl")
    with closing(open_table(options.work, options.cache, options.tries)) as farm:
        for name in options.tasks:
            kept = Jobs(task_name=name)
            chosen = claimed(farm, name, rows, facts)
            n = sum(1 for _ in measure(farm, (kept.job(one, "confirm") for one in chosen)))
            print(f"{name}: {n} candidates confirmed, {farm.n_judged} jobs had to be judged so far", flush=True)


def claimed(farm: RecordedFarm, name: str, rows: Sequence[Row], facts: PlatformFacts) -> list[Candidate]:
    """Whoever led a campaign at any moment, and the best of the whole landscape by its screens: the best known must not
    depend on what the campaigns happened to find."""
    wanted = {leader for row in rows if row.task == name for leader in row.leaders}
    kept, candidates = Jobs(task_name=name), every_candidate(name, facts)
    lows = {
        short(one): timing.low
        for one in candidates
        if (job := kept.job(one, "screen")) in farm and (timing := farm.submit(job).result().timing)
    }
    wanted |= set(sorted(lows, key=lambda key: -lows[key])[:N_TOP])
    return [one for one in candidates if short(one) in wanted]


def confirmed_values(farm: RecordedFarm, tasks: Sequence[str], rows: Sequence[Row], facts: PlatformFacts) -> Values:
    """The reference's 1.0 where the second measurement failed."""
    values: dict[tuple[str, str], float] = {}
    for name in tasks:
        kept = Jobs(task_name=name)
        for one in claimed(farm, name, rows, facts):
            timing = farm.submit(kept.job(one, "confirm")).result().timing
            values[name, short(one)] = timing.speedup if timing else 1.0
    return values


def stage_report(options: argparse.Namespace, facts: PlatformFacts) -> None:
    rows = [row for row in read_rows(options.work / "campaigns.jsonl") if row.task in options.tasks]
    with closing(RecordedFarm(table=options.work / "verdicts.jsonl")) as farm:
        values = confirmed_values(farm, options.tasks, rows, facts)
        landscapes = landscape_table(farm, options.tasks, values, facts)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "tables.md").write_text(
        "\n".join([landscapes, by_task(options.tasks, rows, values), tables(rows, values)])
    )
    (options.out / "search.svg").write_text(figure(rows, values))
    kept = {"campaigns": "".join(row.to_json() + "\n" for row in rows).encode()}
    kept["verdicts"] = (options.work / "verdicts.jsonl").read_bytes()
    for name, data in kept.items():
        (options.out / f"{name}.jsonl.gz").write_bytes(gzip.compress(data, mtime=0))
    print((options.out / "tables.md").read_text())


def landscape_table(farm: RecordedFarm, tasks: Sequence[str], values: Values, facts: PlatformFacts) -> str:
    """What there was to find, and how well the screens tell it: a search that saw everything would end with the best
    screen of all, which the second measurement need not confirm."""
    best = best_known(values)
    parts = [
        "| task | shape | candidates | failed | middle screen | best known | best screen, measured again | width |",
        "|---" * 8 + "|",
    ]
    for name in tasks:
        kept = Jobs(task_name=name)
        found = [
            (farm.submit(job).result(), short(one))
            for one in every_candidate(name, facts)
            if (job := kept.job(one, "screen")) in farm
        ]
        timed = [(verdict.timing, key) for verdict, key in found if verdict.timing]
        top = values[name, max(timed, key=lambda item: item[0].low)[1]]
        widths = statistics.median(width(verdict) for verdict, _ in found)
        shape = " ".join(f"{axis}={size}" for axis, size in SHAPES[name].items())
        middle = statistics.median(timing.speedup for timing, _ in timed)
        parts.append(
            f"| {name} | {shape} | {len(found)} | {len(found) - len(timed)} | {middle:.2f}x | {best[name]:.2f}x | "
            f"{top:.2f}x ({math.log(top / best[name]):+.3f}) | {widths:.2f} |"
        )
    return "\n".join(parts) + "\n"


def by_task(tasks: Sequence[str], rows: Sequence[Row], values: Values) -> str:
    """Where each policy ended, mean over memories and seeds."""
    best = best_known(values)
    parts = ["**Policies by task, at the end**", "", "| task | " + " | ".join(POLICIES) + " |", "|---" * 7 + "|"]
    for name in tasks:
        found = [
            statistics.fmean(
                score_at(row, BUDGET, values, best) for row in pick(rows, "builtin", policy) if row.task == name
            )
            for policy in POLICIES
        ]
        parts.append(f"| {name} | " + " | ".join(f"{score:+.3f}" for score in found) + " |")
    return "\n".join(parts) + "\n"


def pick(rows: Sequence[Row], proposer: str, policy: str = "", memory: str = "") -> list[Row]:
    return [
        row for row in rows
        if row.proposer == proposer and policy in ("", row.policy) and memory in ("", row.memory)
    ]  # fmt: skip


def groups(rows: Sequence[Row], values: Values) -> dict[str, list[Summary]]:
    """The tables, by their titles."""

    def of(name: str, chosen: Sequence[Row], reference: Sequence[Row], step: int = BUDGET) -> Summary:
        return summary(name, chosen, reference, values=values, points=CHECKPOINTS, step=step)

    every, replayed = pick(rows, "builtin"), pick(rows, "replay_tree")
    greedy = pick(every, "builtin", "greedy")
    return {
        "Policies, all memories together (difference: to greedy)": [
            of(policy, pick(every, "builtin", policy), greedy) for policy in POLICIES
        ],
        "Memories, all policies together (difference: to auto)": [
            of(memory, pick(every, "builtin", "", memory), pick(every, "builtin", "", "auto")) for memory in MEMORIES
        ],
        "Policies on recorded proposals (difference: to greedy)": [
            of(policy, pick(replayed, "replay_tree", policy), pick(replayed, "replay_tree", "greedy"))
            for policy in POLICIES
        ],
        "Policies after half of the budget (interval and difference: of that moment)": [
            of(policy, pick(every, "builtin", policy), greedy, BUDGET // 2) for policy in POLICIES
        ],
        "Every policy with every memory (difference: to greedy with auto)": [
            of(f"{policy}, {memory}", pick(every, "builtin", policy, memory), pick(every, "builtin", *REFERENCE))
            for policy in POLICIES
            for memory in MEMORIES
        ],
    }  # fmt: skip


def tables(rows: Sequence[Row], values: Values) -> str:
    parts = []
    for title, found in groups(rows, values).items():
        if not found or not found[0].n:
            continue
        head = " | ".join(f"after {k}" for k in CHECKPOINTS)
        parts += [
            f"**{title}**",
            "",
            f"| | {head} | end, interval | difference, interval | tasks drawn | near the best | failed |",
        ]
        parts += ["|---" * (6 + len(CHECKPOINTS)) + "|", *map(_line, found), ""]
    return "\n".join(parts)


def _line(one: Summary) -> str:
    points = " | ".join(f"{point:.3f}" for point in one.checkpoints)
    mark = "**" if one.difference.clear else ""
    steps = f"{one.median_steps:.0f}" if one.median_steps <= BUDGET else f"> {BUDGET}"
    return (
        f"| {one.name} | {points} | {one.score.low:.3f}..{one.score.high:.3f} | {mark}{one.difference.mean:+.3f}{mark} "
        f"({one.difference.low:+.3f}..{one.difference.high:+.3f}) | {one.by_task.low:+.3f}..{one.by_task.high:+.3f} | "
        f"{one.reached:.0%}, median {steps} | {one.failed:.1%} |"
    )


def figure(rows: Sequence[Row], values: Values) -> str:
    best = best_known(values)

    def curve(chosen: Sequence[Row]) -> list[float]:
        return [statistics.fmean(score_at(row, k, values, best) for row in chosen) for k in range(1, BUDGET + 1)]

    def by_policy(proposer: str) -> dict[str, list[float]]:
        return {policy: curve(pick(rows, proposer, policy)) for policy in POLICIES}

    policies, memories, replays, *_ = (
        {one.name: one.difference for one in found} for found in groups(rows, values).values()
    )  # fmt: skip
    left, right = Box(x=70, y=70, width=430, height=300), Box(x=590, y=70, width=430, height=300)
    parts = [
        text(70, 26, CAPTION, size=13),
        *curves(left, "built-in proposer, all memories together", by_policy("builtin"), low=LOWEST),
        *curves(right, "recorded proposals", by_policy("replay_tree"), low=LOWEST),
        *dots(Box(x=150, y=460, width=200, height=180), "policy, against greedy", policies, reach=REACH),
        *dots(Box(x=500, y=460, width=200, height=180), "memory, against auto", memories, reach=REACH),
        *dots(Box(x=850, y=460, width=170, height=180), "recorded, against greedy", replays, reach=REACH),
        text(70, 690, BELOW, size=12),
    ]
    return page(1060, 710, parts)


CAPTION = "Best candidate so far: its speed as a share of the best known, geometric mean over tasks and seeds"
BELOW = "Below: change of ln(speed) at the end, same tasks and seeds; line: 95 % interval; blue: zero is outside it"
LOWEST = 0.5
REACH = 0.10
STAGES: dict[str, Callable[[argparse.Namespace, PlatformFacts], None]] = {
    "measure": stage_measure, "campaigns": stage_campaigns, "confirm": stage_confirm, "report": stage_report,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=list(STAGES))
    parser.add_argument("--tasks", nargs="*", default=list(SHAPES))
    parser.add_argument("--tries", type=int, default=5, help="measurements of one candidate, at the most")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--work", type=Path, default=Path("search-comparison"))
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--out", type=Path, default=Path("docs/results/search"))
    options = parser.parse_args()
    STAGES[options.stage](options, one_core(make_platform("cpu").facts()))


if __name__ == "__main__":
    main()
