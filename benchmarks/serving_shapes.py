"""Claims of finished campaigns shape by shape: beside every baseline, and what a plain copy leaves to be gained.

    python benchmarks/serving_shapes.py STORE .. [--rates docs/results/h200/rates.json] [--out FILE.json]

Everything is read from the campaigns' records, nothing is measured: sealed shapes, then those of the search as they
were measured again. "copy" is what the best plain copy of as many bytes takes by the same clock (gpu_clocks.py); the
fastest baseline over it is the most that any kernel could gain there. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kernelevolve.interfaces.record import Record, Row, load_record
from kernelevolve.model.verdict import ShapeTiming
from kernelevolve.store import open_store

WITHOUT = {"gated_delta_packed_decode": ("K", "V", "S")}
"""Axes that are the same in every row."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stores", nargs="+", type=Path)
    parser.add_argument("--rates", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    copies = copy_times(json.loads(options.rates.read_text())) if options.rates else {}
    records = [
        load_record(store, row.id) for folder in options.stores for store in [open_store(folder)]
        for row in store.campaigns()
    ]  # fmt: skip
    found: dict[str, list[dict[str, Any]]] = {}
    for record in one_a_part(records):
        found.setdefault(record.opened.task.name, []).extend(rows_of(record, copies))
    for name, rows in sorted(found.items()):
        sys.stdout.write(table(name, sorted(rows, key=lambda row: list(row["shape"].values()))) + "\n\n")
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


def one_a_part(records: Iterable[Record]) -> list[Record]:
    """Of the campaigns for the same part of a task's domain, the one with the best claim."""
    best: dict[tuple[str, str], Record] = {}
    for record in records:
        part = record.opened.task.name, record.opened.task.where
        if record.winner is not None and (part not in best or claimed(record) > claimed(best[part])):
            best[part] = record
    return list(best.values())


def claimed(record: Record) -> float:
    sealed = record.winner.sealed if record.winner is not None else None
    return sealed.timing.low if sealed is not None and sealed.timing is not None else 0.0


def rows_of(record: Record, copies: Mapping[int, float]) -> list[dict[str, Any]]:
    assert record.winner is not None
    row: Row = record.winner
    rows: list[dict[str, Any]] = []
    for level, verdict in (("sealed", row.sealed), ("confirm", row.confirmed)):
        for timing in verdict.timing.shapes if verdict is not None and verdict.timing is not None else ():
            if all(timing.shape != known["shape"] for known in rows):
                rows.append(row_of(record, row, level, timing, copies))
    return rows


def row_of(record: Record, row: Row, level: str, timing: ShapeTiming, copies: Mapping[int, float]) -> dict[str, Any]:
    best = timing.against_best
    copy_us = interpolated(copies, timing.bytes_moved)
    return {
        "campaign": record.campaign_id, "step": row.step, "recipe": row.candidate.origin.recipe, "level": level,
        "shape": timing.shape, "us": timing.latency_us, "bytes": timing.bytes_moved, "copy_us": copy_us,
        "best_baseline": best.baseline, "speedup": best.speedup, "low": best.low, "high": best.high,
        "ceiling": best.baseline_us / copy_us if copy_us else None,
        "baselines": {
            one.baseline: {"us": one.baseline_us, "speedup": one.speedup, "low": one.low, "high": one.high}
            for one in timing.comparisons
        },
    }  # fmt: skip


def table(name: str, rows: list[dict[str, Any]]) -> str:
    baselines = list(dict.fromkeys(baseline for row in rows for baseline in row["baselines"]))
    head = ["shape", "us", "copy, us", *(f"over {one}" for one in baselines), "most possible", "kernel", "shapes"]
    lines = [f"### {name}", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        left_out = WITHOUT.get(name, ())
        shape = " ".join(f"{axis}={size}" for axis, size in row["shape"].items() if axis not in left_out)
        cells = [shape, f"{row['us']:.2f}", f"{row['copy_us']:.2f}" if row["copy_us"] else ""]
        for baseline in baselines:
            one = row["baselines"].get(baseline)
            cells.append(f"{one['speedup']:.2f} [{one['low']:.2f}-{one['high']:.2f}]" if one else "")
        cells += [f"{row['ceiling']:.2f}" if row["ceiling"] else "", row["recipe"].rpartition("/")[2], row["level"]]
        lines.append("| " + " | ".join(cells) + " |")
    means = [mean([row["baselines"][one]["speedup"] for row in rows if one in row["baselines"]]) for one in baselines]
    lines.append(f"| geometric mean | | | {' | '.join(f'{value:.2f}' for value in means)} | | | |")
    return "\n".join(lines)


def mean(values: list[float]) -> float:
    return math.exp(statistics.mean(math.log(value) for value in values))


def copy_times(clocks: Mapping[str, Any]) -> dict[int, float]:
    """us by bytes read and written: the best way to write a plain copy, by the judge's clock."""
    return {
        int(size): min(statistics.median(samples) for samples in ways.values())
        for size, ways in clocks["rates"]["copy"].items()
    }


def interpolated(copies: Mapping[int, float], n_bytes: int) -> float | None:
    """Time a copy of as many bytes takes, between the two measured sizes around it; below the smallest, that one's."""
    points = sorted(copies.items())
    if points and n_bytes < points[0][0]:
        return points[0][1]
    for (low, low_us), (high, high_us) in zip(points, points[1:], strict=False):
        if low <= n_bytes <= high:
            return low_us + (high_us - low_us) * (n_bytes - low) / (high - low)
    return None


if __name__ == "__main__":
    main()
