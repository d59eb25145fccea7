"""Gated DeltaNet packed decode, the winners of campaigns: a long rollout, and slots that begin beyond 2^31 elements.

    python benchmarks/gdn_decode.py --store FOLDER --out docs/results/h200/gdn_rollout.json [--steps 1000]

The rollout compares kernel and float32 reference with the float64 oracle after `--steps` steps. Its speed on the
serving shapes is serving_shapes.py's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from kernelevolve.farm.process import QUIET

os.environ |= QUIET  # before torch: its threads must not spin

import torch  # noqa: E402

from kernelevolve.evaluation.bench import Bench  # noqa: E402
from kernelevolve.evaluation.compare import relative_l2  # noqa: E402
from kernelevolve.evaluation.defences import ALL, Defences  # noqa: E402
from kernelevolve.evaluation.judge import Judge  # noqa: E402
from kernelevolve.evaluation.lane import Lane  # noqa: E402
from kernelevolve.evaluation.launch import make_launch  # noqa: E402
from kernelevolve.evaluation.stages.check import drifts  # noqa: E402
from kernelevolve.evaluation.tensors import tensor_bytes  # noqa: E402
from kernelevolve.interfaces.record import load_record  # noqa: E402
from kernelevolve.model.job import Job, Limits  # noqa: E402
from kernelevolve.model.task import ShapeSets  # noqa: E402
from kernelevolve.store import open_store  # noqa: E402
from kernelevolve.toolchains.cache import default_cache  # noqa: E402

FAR_SLOTS = 2100
"""Slots of 2^20 elements: the last ones begin beyond 2^31 elements."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--variants", type=int, default=2, help="kinds of input in the rollout, of the task's list")
    parser.add_argument("--only", default="", help="part of it: rollout or far")
    parser.add_argument("--campaigns", nargs="*", default=[""], help="those whose ids end so; all")
    options = parser.parse_args()
    store = open_store(options.store)
    records = [load_record(store, row.id) for row in store.campaigns()]
    records = [r for r in records if r.campaign_id.endswith(tuple(options.campaigns))]
    records = [r for r in records if r.opened.task.name == "gated_delta_packed_decode" and r.leader is not None]
    found: dict[str, list[Any]] = {"rollout": [], "far": []}
    if options.only in ("", "far"):
        found["far"].append(far(records))
        show(json.dumps(found["far"][-1]))
    for record in records if options.only in ("", "rollout") else []:
        found["rollout"].append(rolled_out(record, options.steps, options.variants))
        show(json.dumps(found["rollout"][-1]))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1))


def show(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def admits(task, shape) -> bool:
    return all(task.axis(name).admits(size) for name, size in shape.items())


def rolled_out(record, steps: int, n_variants: int):
    """On the smallest shape of the campaign's part: relative errors of the kernel and of the float32 reference."""
    task = record.opened.task
    rollout = task.rollout.model_copy(update={"steps": steps})
    shape = min(task.shapes.shown, key=lambda one: one["B"] * one["HV"])
    small = {**shape, "H": 2, "HV": 8, "S": shape["B"] + 3}
    bench = Bench(
        task.model_copy(update={"rollout": rollout, "shapes": ShapeSets(shown=(small,))}), n_threads=1,
        cache=default_cache(), defences=ALL,
    )  # fmt: skip
    bench.use("rollout")
    bench.exam.module.variants = bench.exam.module.variants[:n_variants]
    errors, shapes = {}, []
    with loaded(bench, record, "check") as runner:
        for variant, rolled in zip(bench.exam.module.variants, bench.exam.rolled(), strict=True):
            kernel = {spec.name: drift for spec, drift in drifts(bench, runner, bench.arena("check"), rolled, 30.0)}
            shapes.append(rolled.shape)
            errors[variant] = {"kernel": kernel, "float32 reference": reference_drift(bench, rolled)}
    bench.close()
    return {"campaign": record.campaign_id, "shape": shapes[0], "steps": steps, "relative_l2": errors}


def reference_drift(bench: Bench, rolled) -> dict[str, float]:
    state = rolled.steps[0].inputs["state"].clone()
    outputs = {}
    for step in rolled.steps:
        outputs = bench.exam.module.honest({**step.inputs, "state": state}, step.shape)
        state = outputs["state"]
    by_name = {spec.name: spec for spec in bench.task.written}
    wanted = rolled.outputs | {"state": rolled.state}
    return {
        name: relative_l2(by_name[name], tensor_bytes(value.contiguous()), wanted[name])
        for name, value in outputs.items()
    }


def loaded(bench: Bench, record, level: str):
    from kernelevolve.evaluation.stages.build import build

    job = Job(task=bench.task, candidate=record.leader.candidate, level=level, secret="rollout")
    built = build(job, cache=default_cache(), lane=Lane())
    launch = make_launch(record.leader.candidate.language, built.artifact, bench.task)
    bench.arena(level)
    return bench.runners("g++").take().given(launch, Limits(call_s=30.0))


def far(records):
    """One checked call with slots beyond 2^31 elements."""
    shape = {"B": 4, "H": 16, "HV": 64, "K": 128, "V": 128, "S": FAR_SLOTS}
    record = next(r for r in records if admits(r.opened.task, shape))
    task = record.opened.task.model_copy(update={"shapes": ShapeSets(shown=(shape,)), "rollout": None})
    judge = Judge(cache=default_cache(), defences=Defences(without=("admission", "edge_shapes", "variants", "scales")))
    verdict = judge.verdict(
        Job(task=task, candidate=record.leader.candidate, level="check", secret="far", limits=Limits(call_s=60.0))
    )
    judge.close()
    peak = torch.cuda.max_memory_allocated()
    return {"shape": shape, "outcome": verdict.outcome.value, "message": verdict.message, "peak_bytes": peak}


if __name__ == "__main__":
    main()
