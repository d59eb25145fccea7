"""Candidates per hour on one GPU: checked and screened, every one compiled, every one in a process of its own.

    python benchmarks/gpu_throughput.py --out docs/results/h200/throughput.jsonl [--n 200] [--task rms_norm]
        [--language cuda|triton]

The candidates are settings of one recipe; where it has too few, a number in the program makes the rest differ, so that
neither a build nor a verdict is answered from what was kept: every machine code is another one. All are handed to the
local farm at once. What is done once for a task (draws, answers, the compiled baselines, the device's rates, one
candidate to warm up) is counted apart. Ends with 1 when a verdict is anything but correct.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kernelevolve.farm.base import Ticket
from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.paths import Where, narrowed
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.proposers.builtin.arm import recipe_arm
from kernelevolve.proposers.builtin.recipe import family_recipes
from kernelevolve.tasks import load_task

TASKS = {
    "gated_delta_packed_decode": ("B=1..4,K=128,V=128", {"cuda": "warp_rows", "triton": "tile"}),
    "rms_norm": ("", {"cuda": "adaptive_rows"}),
}
"""Task -> the shapes asked for, and the recipe of each language."""
SECRET = "throughput"
BODY = {"cuda": re.compile(r"__global__[^{;]*\{"), "triton": re.compile(r"@triton\.jit\ndef .*?\):[^\n]*\n", re.DOTALL)}
NEVER = {"cuda": " if (blockDim.z == {n}) return;", "triton": "    if tl.num_programs(2) == {n}:\n        return\n"}
"""A test of the launch that never holds: the machine code differs, the work does not."""
WARM_UP = 1
TIMEOUT_S = 600.0


def make_task(name: str) -> Task:
    where = TASKS[name][0]
    task = load_task(name, platform="cuda")
    return narrowed(task, Where.parse(where)) if where else task


def variants(task: Task, recipe_name: str, n: int) -> list[Candidate]:
    """`n` distinct candidates, always the same ones: the recipe's settings in an order drawn once, the defaults
    first; when they are used up, again with a number in the source."""
    recipe = next(item for item in family_recipes(task.family) if item.name == recipe_name)
    arm = recipe_arm(recipe, task, PlatformFacts(name="cuda", kind="cuda"))
    settings = list(itertools.product(*(knob.values for knob in arm.knobs)))
    settings = settings[:1] + random.Random(SECRET).sample(settings[1:], len(settings) - 1)
    made = []
    for index in range(n):
        chosen = settings[index % len(settings)]
        candidate = arm.candidate(dict(zip((knob.name for knob in arm.knobs), chosen, strict=True)))
        made.append(candidate if index < len(settings) else numbered(candidate, index))
    return made


def numbered(candidate: Candidate, index: int) -> Candidate:
    """The same work by another machine code."""
    body, never = BODY[candidate.language], NEVER[candidate.language].format(n=1000 + index)
    files = tuple(
        SourceFile(path=file.path, text=body.sub(lambda found: found.group(0) + never, file.text))
        for file in candidate.files
    )
    return candidate.model_copy(update={"files": files})


def race(farm: ProcessFarm, task: Task, candidates: list[Candidate]) -> dict[str, Any]:
    """Hand in all, wait for all."""
    started = time.monotonic()
    tickets: list[Ticket] = [
        farm.submit(Job(task=task, candidate=candidate, level="screen", secret=SECRET)) for candidate in candidates
    ]
    submitted_s = time.monotonic() - started
    verdicts, ended_s = [], []
    for ticket in tickets:
        verdicts.append(ticket.result(TIMEOUT_S))
        ended_s.append(time.monotonic() - started)
        if len(verdicts) % 25 == 0:
            sys.stderr.write(f"{len(verdicts)} verdicts after {ended_s[-1]:.1f} s\n")
    return {"submitted_s": submitted_s, "wall_s": ended_s[-1], "ended_s": ended_s, "verdicts": verdicts}


def seconds(verdict: Verdict, stage: str) -> float:
    return sum(report.seconds for report in verdict.stages if report.stage.value == stage)


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Builds run beside the rest in threads; checking and measuring go one at a time, and so does what is neither."""
    verdicts, wall_s = found["verdicts"], found["wall_s"]
    stages = {
        stage: [seconds(verdict, stage) for verdict in verdicts] for stage in ("inspect", "build", "check", "measure")
    }
    apart = [end - start for start, end in itertools.pairwise([0.0, *found["ended_s"]])]
    rest = [
        each - seconds(verdict, "check") - seconds(verdict, "measure")
        for each, verdict in zip(apart, verdicts, strict=True)
    ]
    stages["rest"] = rest
    timed_s = sum(stages["measure"])
    speedups = [verdict.timing.speedup for verdict in verdicts if verdict.timing]
    return {
        "n": len(verdicts), "distinct": len({verdict.candidate_id for verdict in verdicts}),
        "wall_s": round(wall_s, 2), "per_hour": round(3600 * len(verdicts) / wall_s),
        "first_verdict_s": round(found["ended_s"][0], 2), "submitted_s": round(found["submitted_s"], 2),
        "builds_answered_from_cache": sum(
            report.note == "cached" for verdict in verdicts for report in verdict.stages
        ),
        "phases_s": {
            name: {"sum": round(sum(values), 2), "median": round(statistics.median(values), 4),
                   "max": round(max(values), 3)}
            for name, values in stages.items()
        },
        "measure_share_of_wall": round(timed_s / wall_s, 4),
        "judged_in_full": sum(seconds(verdict, "check") > 0 for verdict in verdicts),
        "outcomes": dict(Counter(verdict.outcome.value for verdict in verdicts)),
        "speedup_best": round(max(speedups, default=0.0), 3),
        "speedup_median": round(statistics.median(speedups), 3) if speedups else None,
    }  # fmt: skip


def measured(task: Task, candidates: list[Candidate], cache: Path) -> dict[str, Any]:
    """Preparation, warm-up and race, in a farm of their own."""
    farm = ProcessFarm(n_threads=1, cache_dir=cache)
    try:
        started = time.monotonic()
        farm.prepare(Preparation(task=task, level="screen", secret=SECRET))
        prepared_s = time.monotonic() - started
        for candidate in candidates[:WARM_UP]:
            farm.submit(Job(task=task, candidate=candidate, level="screen", secret=SECRET)).result(TIMEOUT_S)
        warmed_s = time.monotonic() - started - prepared_s
        found = race(farm, task, candidates[WARM_UP:])
    finally:
        farm.close()
    each = [
        {"settings": candidate.origin.parameters, "outcome": verdict.outcome.value, "ended_s": round(ended, 3),
         "stages": {report.stage.value: report.seconds for report in verdict.stages},
         "speedup": verdict.timing.speedup if verdict.timing else None}
        for candidate, verdict, ended in zip(candidates[WARM_UP:], found["verdicts"], found["ended_s"], strict=True)
    ]  # fmt: skip
    failed = [
        {"candidate": candidate.origin.parameters, "outcome": verdict.outcome.value, "message": verdict.message[:300]}
        for candidate, verdict in zip(candidates[WARM_UP:], found["verdicts"], strict=True)
        if verdict.outcome is not Outcome.CORRECT
    ]
    whole = {"prepared_s": round(prepared_s, 2), "warm_up_s": round(warmed_s, 2), "judges_started": farm.n_started}
    return {**whole, **summary(found), "failed": failed, "each": each}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a line of JSON is added")
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--task", choices=tuple(TASKS), default="gated_delta_packed_decode")
    parser.add_argument("--language", choices=("cuda", "triton"), default="cuda")
    options = parser.parse_args()
    recipes = TASKS[options.task][1]
    if options.language not in recipes:
        parser.error(f"no recipe in {options.language} for {options.task}; there is one in {', '.join(recipes)}")
    task = make_task(options.task)
    candidates = variants(task, recipes[options.language], options.n + WARM_UP)
    about = {
        "task": options.task, "where": task.where, "recipe": recipes[options.language], "language": options.language,
        "shapes": [dict(shape) for shape in task.shapes.search or task.shapes.shown], "cores": os.cpu_count(),
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="ke-throughput-") as folder:
        record = {**about, **measured(task, candidates, Path(folder))}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("a") as out:
        out.write(json.dumps(record) + "\n")
    print(json.dumps({name: value for name, value in record.items() if name != "each"}, indent=1))
    print(words(record))
    if record["failed"]:
        print(f"{len(record['failed'])} of {record['n']} verdicts are not correct: the figure does not count")
    whole = record["distinct"] == record["judged_in_full"] == record["n"]
    return 0 if whole and not record["failed"] else 1


def words(record: dict[str, Any]) -> str:
    phases = ", ".join(f"{name} {values['median'] * 1e3:.0f} ms" for name, values in record["phases_s"].items())
    return (
        f"{record['per_hour']} candidates per hour ({record['n']} in {record['wall_s']} s, {record['language']}, "
        f"{record['recipe']}); preparation {record['prepared_s']} s, warm-up {record['warm_up_s']} s\n"
        f"median of a candidate: {phases}; measuring (filling slots, flushing, timing, looking) took "
        f"{100 * record['measure_share_of_wall']:.0f} % of the wall; outcomes {record['outcomes']}"
    )


if __name__ == "__main__":
    sys.exit(main())
