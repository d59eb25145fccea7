"""Every built-in task and recipe on this GPU: is the task sound, is each recipe right, how fast are its defaults.

    python benchmarks/gpu_recipes.py --out docs/results/h200/recipes.jsonl [--only conv1d] [--level screen]

One line of JSON for each task's admission and for each recipe's verdict, with the seconds of every stage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from pathlib import Path

from kernelevolve.farm.process import QUIET

os.environ |= QUIET  # before torch: its threads must not spin

from kernelevolve.errors import MachineError, TaskError  # noqa: E402
from kernelevolve.evaluation.judge import Judge  # noqa: E402
from kernelevolve.model.job import Job, Preparation  # noqa: E402
from kernelevolve.model.task import Task  # noqa: E402
from kernelevolve.platforms import make_platform  # noqa: E402
from kernelevolve.proposers.builtin.arm import recipe_arm  # noqa: E402
from kernelevolve.proposers.builtin.recipe import family_recipes  # noqa: E402
from kernelevolve.tasks import builtin_names, load_task  # noqa: E402
from kernelevolve.toolchains.cache import default_cache  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--level", choices=("screen", "confirm", "sealed"), default="screen")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    judge = Judge(cache=default_cache())
    with options.out.open("a") as out:
        for name in builtin_names():
            if not options.only or name in options.only.split(","):
                for record in records(judge, load_task(name, platform="cuda"), options.level):
                    out.write(json.dumps(record) + "\n")
                    out.flush()
                    sys.stdout.write(words(record) + "\n")
                    sys.stdout.flush()
    judge.close()


def records(judge: Judge, task: Task, level: str):
    started = time.monotonic()
    try:
        admission = judge.admit(Preparation(task=task, secret="recipes"))
    except (MachineError, TaskError, RuntimeError, ValueError) as error:
        traceback.print_exc()
        yield {"task": task.name, "void": [f"{type(error).__name__}: {error}"[:300]]}
        return
    yield {"task": task.name, "void": list(admission.void), "seconds": round(time.monotonic() - started, 2)}
    facts = make_platform("cuda").facts()
    for recipe in family_recipes(task.family):
        if recipe.language == "cpp" or admission.void:
            continue
        if not recipe.fits(task, facts):
            yield {"task": task.name, "recipe": recipe.name, "outcome": "does not fit the whole domain"}
            continue
        arm = recipe_arm(recipe, task, facts)
        started = time.monotonic()
        job = Job(task=task, candidate=arm.candidate(arm.defaults()), level=level, secret="recipes")
        try:
            verdict = judge.verdict(job)
        except (MachineError, TaskError, RuntimeError, ValueError) as error:
            traceback.print_exc()
            yield {"task": task.name, "recipe": recipe.name, "outcome": "error", "message": str(error)[:300]}
            continue
        timing = verdict.timing
        shapes = timing.shapes if timing else ()
        yield {
            "task": task.name, "recipe": recipe.name, "language": recipe.language, "outcome": verdict.outcome.value,
            "message": verdict.message[:300], "speedup": timing.speedup if timing else None,
            "seconds": round(time.monotonic() - started, 2),
            "stages": {report.stage.value: report.seconds for report in verdict.stages},
            "shapes": [
                {"shape": s.shape, "us": s.latency_us, "floor_us": s.floor_us,
                 "baselines_us": {c.baseline: c.baseline_us for c in s.comparisons}}
                for s in shapes
            ],
        }  # fmt: skip


def words(record) -> str:
    if "recipe" not in record:
        return f"{record['task']}: {'; '.join(record['void']) or 'sound'} ({record.get('seconds', 0)} s)"
    lines = [f"  {record['recipe']}: {record['outcome']} {record.get('message', '')} {record.get('stages', '')}"]
    for one in record.get("shapes", []):
        rivals = ", ".join(f"{name} {us:.1f}" for name, us in one["baselines_us"].items())
        lines.append(f"    {one['us']:9.2f} us, floor {one['floor_us'] or 0:.2f}, {rivals}  {one['shape']}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
