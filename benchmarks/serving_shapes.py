"""Winners of campaigns on the shapes that a published table or a server has, beside every baseline and a plain copy.

    python benchmarks/serving_shapes.py TASK .. --store FOLDER --out FOLDER [--rates docs/results/h200/rates.json]

For each shape the winner whose part of the domain is the smallest that holds it, as an exported dispatcher would
choose, compared by the judge at level "confirm" with the task's own arms, eager, torch.compile and max-autotune. "copy"
is what a plain copy of as many bytes takes by the same clock: the baseline over it is the most any kernel could gain.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelevolve.farm.process import QUIET

os.environ |= QUIET  # before torch: its threads must not spin

from kernelevolve.errors import MachineError  # noqa: E402
from kernelevolve.evaluation.defences import Defences  # noqa: E402
from kernelevolve.evaluation.judge import Judge  # noqa: E402
from kernelevolve.interfaces.export.package import serving, winners  # noqa: E402
from kernelevolve.interfaces.record import Record, load_record  # noqa: E402
from kernelevolve.model.job import Job  # noqa: E402
from kernelevolve.model.task import Shape, ShapeSets, Task  # noqa: E402
from kernelevolve.model.verdict import ShapeTiming  # noqa: E402
from kernelevolve.store import open_store  # noqa: E402
from kernelevolve.toolchains.cache import default_cache  # noqa: E402

ALL = ("eager", "compile", "compile-max-autotune")
ONLY_OWN = ("gated_delta_packed_decode",)
"""Tasks held against the arms they bring along alone: eager and compiled, this one is 5 to 20 times slower, and making
20 shapes ready takes minutes."""
TENSOR_PARALLEL = {1: (1, 2, 4, 8, 16, 32, 64, 128), 2: (1, 4, 16, 64), 4: (1, 4, 16, 64), 8: (1, 4, 16, 64)}


def grid(**axes: Sequence[int] | int) -> tuple[Shape, ...]:
    """Axes given as lists vary together."""
    length = max(len(sizes) for sizes in axes.values() if not isinstance(sizes, int))
    return tuple(
        {name: size if isinstance(size, int) else size[index] for name, size in axes.items()} for index in range(length)
    )


def gated_delta_shapes() -> tuple[Shape, ...]:
    return tuple(
        {"B": batch, "H": 16 // ways, "HV": 64 // ways, "K": 128, "V": 128, "S": batch + 3}
        for ways, batches in TENSOR_PARALLEL.items()
        for batch in batches
    )


SHAPES: dict[str, tuple[Shape, ...]] = {
    "gated_delta_packed_decode": gated_delta_shapes(),
    "conv1d": (
        *grid(B=[64, 128, 256, 512, 1024, 2048], CI=96, CO=96, L=200),
        *grid(B=[32, 32, 64], CI=[64, 256, 768], CO=[64, 256, 768], L=[512, 1024, 1024]),
    ),
    "wukong_optimized_fm": grid(B=1024, N=[24, 40, 48], D=224, K=[2198, 448, 448]),
    "interformer_pffn": grid(B=1024, N=[200, 200, 400, 150], D=[256, 192, 256, 96], K=[160, 96, 160, 192]),
    "map_id": (
        *grid(B=[100, 500, 1000, 5000], L=10000, M=10000),
        *grid(B=10000, L=1000, M=[2000, 4000, 6000, 8000, 10000, 50000]),
    ),
    "merge_bucketized_dense": grid(F=[64, 256, 1024, 2048, 1024], N=[2, 4, 4, 4, 4096]),
    "batch_event_truncate": grid(U=1024, F=[1, 5, 9, 32, 32], EV=[200, 200, 200, 100, 200]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=sorted(SHAPES))
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rates", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    copies = copy_times(json.loads(options.rates.read_text())) if options.rates else {}
    store = open_store(options.store)
    records = [load_record(store, row.id) for row in store.campaigns()]
    for name in options.tasks:
        mine = one_a_part([record for record in records if record.opened.task.name == name])
        rows = [row for record, shapes in shared_out(mine, SHAPES[name]) for row in measured(record, shapes, copies)]
        (options.out / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n")


def one_a_part(records: Iterable[Record]) -> list[Record]:
    """Of the campaigns for the same part of the domain, the one with the best claim."""
    best: dict[str, Record] = {}
    for record in records:
        if record.winner is not None:
            other = best.get(record.opened.task.where)
            if other is None or claimed(record) > claimed(other):
                best[record.opened.task.where] = record
    return list(best.values())


def claimed(record: Record) -> float:
    sealed = record.winner.sealed if record.winner is not None else None
    return sealed.timing.low if sealed is not None and sealed.timing is not None else 0.0


def shared_out(records: Sequence[Record], shapes: Iterable[Shape]) -> list[tuple[Record, tuple[Shape, ...]]]:
    """Which winner serves which of the shapes."""
    found = winners(records) if records else []
    by_key = {winner.key: winner.record for winner in found}
    served: dict[str, list[Shape]] = {}
    for shape in shapes:
        key = serving(found, shape)
        if key:
            served.setdefault(key, []).append(shape)
        else:
            show(f"the fallback serves {shape}")
    return [(by_key[key], tuple(chosen)) for key, chosen in served.items()]


def measured(record: Record, shapes: tuple[Shape, ...], copies: Mapping[int, float]) -> list[dict[str, Any]]:
    """One row a shape; a new judge for each winner, as what it holds ready is for one task."""
    assert record.winner is not None
    judge = Judge(cache=default_cache(), defences=Defences(without=("admission",)))
    baselines = () if record.opened.task.name in ONLY_OWN else ALL
    task: Task = record.opened.task.model_copy(update={"shapes": ShapeSets(shown=shapes)})
    job = Job(task=task, candidate=record.winner.candidate, level="confirm", baselines=baselines, secret="serving")
    try:
        verdict = judge.verdict(job)
    except MachineError as error:
        show(f"{record.campaign_id}: {error}")
        return []
    finally:
        judge.close()
    if verdict.timing is None:
        show(f"{record.campaign_id}: {verdict.outcome.value} {verdict.message}")
        return []
    rows = [row_of(record, timing, copies) for timing in verdict.timing.shapes]
    for row in rows:
        show(words(row))
    return rows


def row_of(record: Record, timing: ShapeTiming, copies: Mapping[int, float]) -> dict[str, Any]:
    assert record.winner is not None
    best = min(timing.comparisons, key=lambda one: one.speedup)
    copy_us = interpolated(copies, timing.bytes_moved)
    return {
        "campaign": record.campaign_id, "step": record.winner.step, "recipe": record.winner.candidate.origin.recipe,
        "shape": timing.shape, "us": timing.latency_us, "bytes": timing.bytes_moved, "copy_us": copy_us,
        "ceiling": best.baseline_us / copy_us if copy_us else None, "best_baseline": best.baseline,
        "baselines": {
            one.baseline: {"us": one.baseline_us, "speedup": one.speedup, "low": one.low, "high": one.high}
            for one in timing.comparisons
        },
    }  # fmt: skip


def words(row: Mapping[str, Any]) -> str:
    shape = " ".join(f"{name}={size}" for name, size in row["shape"].items())
    over = "  ".join(
        f"{name} {one['speedup']:.2f}x [{one['low']:.2f}-{one['high']:.2f}]" for name, one in row["baselines"].items()
    )
    copy = f"copy {row['copy_us']:.2f} us, so at most {row['ceiling']:.2f}x" if row["copy_us"] else ""
    return f"{shape:34} {row['us']:9.2f} us  {over}  {copy}  [{row['recipe']}]"


def copy_times(clocks: Mapping[str, Any]) -> dict[int, float]:
    """us by bytes read and written: the best way to write a plain copy, by the judge's clock."""
    return {
        int(size): min(statistics.median(samples) for samples in ways.values())
        for size, ways in clocks["rates"]["copy"].items()
    }


def interpolated(copies: Mapping[int, float], n_bytes: int) -> float | None:
    """Time a copy of as many bytes takes, between the two measured sizes around it."""
    points = sorted(copies.items())
    for (low, low_us), (high, high_us) in zip(points, points[1:], strict=False):
        if low <= n_bytes <= high:
            return low_us + (high_us - low_us) * (n_bytes - low) / (high - low)
    return None


def show(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
