"""Every built-in task with the built-in proposer and the default budget; writes the table and the raw records.

    python benchmarks/builtin_tasks.py [--tasks map_id softmax ..] [--seed 0] [--out docs/results]

Writes OUT/builtin-cpu.md (the table) and OUT/builtin-cpu/<task>.json (facts, settings, winner's source, the confirming
and sealed verdicts with every raw log-ratio). Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kernelevolve.model.events import Closed, Confirmed, Event, Judged, Opened, Proposed, Sealed
from kernelevolve.model.verdict import Timing, Verdict
from kernelevolve.store import open_store
from kernelevolve.tasks import builtin_names

TARGETS = {
    "map_id": 10.0,
    "merge_bucketized_dense": 5.0,
    "batch_event_truncate": 5.0,
    "gated_delta_packed_decode": 5.0,
    "wukong_optimized_fm": 1.5,
    "sigrid_hash": 1.5,
}


def run_task(name: str, store: Path, seed: int) -> None:
    command = [sys.executable, "-m", "kernelevolve.interfaces.cli.main", "run", name, "--proposer", "builtin"]
    subprocess.run([*command, "--seed", str(seed), "--store", str(store)], check=False)


def record(name: str, events: list[Event], campaign_id: str) -> dict[str, object]:
    """What a reader needs to check the row of the table."""
    opened = next(event for event in events if isinstance(event, Opened))
    proposed = {event.step: event for event in events if isinstance(event, Proposed)}
    judged = {event.step: event for event in events if isinstance(event, Judged)}
    closed = next((event for event in events if isinstance(event, Closed)), None)
    sealed = next((event for event in events if isinstance(event, Sealed)), None)
    confirmed = {event.step: event.verdict for event in events if isinstance(event, Confirmed)}
    shown = sealed.step if sealed else max(confirmed, key=lambda step: _low(confirmed[step]), default=None)
    candidate = proposed[shown].candidate if shown is not None else None
    return {
        "task": name,
        "campaign": campaign_id,
        "task_id": opened.task.content_id,
        "facts": json.loads(opened.facts.to_json()),
        "settings": json.loads(opened.settings.to_json()),
        "n_candidates": len(judged),
        "n_correct": sum(event.verdict.correct for event in judged.values()),
        "reason": closed.reason if closed else "not finished",
        "winner": closed.winner if closed else None,
        "step": shown,
        "candidate_id": candidate.id if candidate else None,
        "recipe": candidate.origin.recipe if candidate else None,
        "parameters": candidate.origin.parameters if candidate else None,
        "flags": list(candidate.flags) if candidate else None,
        "sealed": json.loads(sealed.verdict.to_json()) if sealed else None,
        "confirmed": {step: json.loads(verdict.to_json()) for step, verdict in confirmed.items()},
    }


def _low(verdict: Verdict) -> float:
    return verdict.timing.low if verdict.timing else 0.0


def row(kept: dict[str, object]) -> str:
    name = str(kept["task"])
    sealed = Verdict.model_validate(kept["sealed"]) if kept["sealed"] else None
    timing = sealed.timing if sealed else None
    target = f">= {TARGETS[name]:g}x" if name in TARGETS else ">= 1x"
    if timing is None or kept["winner"] is None:
        return f"| {name} | – | reference kept: {kept['reason']} | {target} | | | {kept['n_candidates']} | |"
    verdict = "yes" if timing.low >= TARGETS.get(name, 1.0) else "**no**"
    worst = min(shape.against_best.speedup for shape in timing.shapes)
    floor = _floor(timing)
    return (
        f"| {name} | **{timing.speedup:.2f}x** | {timing.low:.2f}–{timing.high:.2f} | {target}: {verdict} "
        f"| {worst:.2f}x | {floor} | {kept['n_candidates']} | {kept['recipe']} (step {kept['step']}) |"
    )


def _floor(timing: Timing) -> str:
    """Latency over the memory floor, best to worst shape."""
    ratios = [shape.latency_us / shape.floor_us for shape in timing.shapes if shape.floor_us]
    return f"{min(ratios):.1f}–{max(ratios):.1f}x" if ratios else "?"


def table(out: Path) -> str:
    kept = [json.loads(path.read_text()) for path in sorted((out / "builtin-cpu").glob("*.json"))]
    facts = kept[0]["facts"]
    head = [
        "# Built-in tasks on a 2-core CPU",
        "",
        "Command: `python benchmarks/builtin_tasks.py` (for each task `kernelevolve run TASK --proposer builtin` with",
        "the default budget: 100 candidates or 60 s of search).",
        "",
        f"Machine: {facts['model']}, {facts['n_cores']} cores, {' '.join(facts['isa'])}; measured copy rate "
        f"{facts['copy_gb_per_s']:.0f} GB/s from memory, {facts['cached_copy_gb_per_s']:.0f} GB/s in cache, "
        f"{facts['fma_gflop_per_s']:.0f} GFLOP/s fp32; {', '.join(facts['compilers'])}.",
        "",
        "Speed-up: against the better of eager PyTorch and `torch.compile` on each sealed shape, geometric mean over",
        "the shapes, 95 % interval; each sealed shape was used once. *worst shape*: the smallest per-shape speed-up.",
        "*over memory floor*: latency over (bytes that must move, at the measured copy rate: from cache when they fit",
        "the last-level cache, else from memory). Raw records, with every log-ratio, in `builtin-cpu/`.",
        "",
        "| task | sealed speed-up | interval | target (lower end) | worst shape | over memory floor | tried | kernel |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(row(item) for item in kept)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=list(builtin_names()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    arguments = parser.parse_args()
    raw = arguments.out / "builtin-cpu"
    raw.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.tasks:
            store_path = Path(folder) / name
            run_task(name, store_path, arguments.seed)
            store = open_store(store_path)
            campaign = store.resolve("latest")
            kept = record(name, store.read(campaign), campaign)
            (raw / f"{name}.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
            (arguments.out / "builtin-cpu.md").write_text(table(arguments.out))


if __name__ == "__main__":
    main()
