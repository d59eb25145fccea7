"""PyTorch eager against itself in another process, by the judge's clock on a CPU: is either told from the other?

Each process is calibrated for itself, so that at times one needs more calls for a sample than the other. Timed as each
was found to need ("own"), and with as many calls on both sides ("agreed", what the judge does).

    python benchmarks/equal_calls.py --out docs/results/judge/equal-calls.jsonl [--processes 8] [--pairs 40]
"""

from __future__ import annotations

import os

from kernelevolve.farm.process import QUIET

os.environ.update(QUIET)  # read when torch is imported: the judge's own threads must not spin beside what is timed

import argparse  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import random  # noqa: E402
import statistics  # noqa: E402
from pathlib import Path  # noqa: E402

from kernelevolve.evaluation.bench import Bench  # noqa: E402
from kernelevolve.evaluation.reference import ReferenceServer  # noqa: E402
from kernelevolve.evaluation.side import Side  # noqa: E402
from kernelevolve.evaluation.stages.measure import agree  # noqa: E402
from kernelevolve.tasks import load_task  # noqa: E402
from kernelevolve.toolchains.cache import default_cache  # noqa: E402

TASK = Path(__file__).parents[1] / "tests" / "attacks" / "tasks" / "matmul"
N_THREADS, TIMEOUT_S = 2, 60.0


def started(bench: Bench) -> tuple[ReferenceServer, Side]:
    arena, shape = bench.arena("sealed"), bench.exam.shapes("sealed")[0]
    server = ReferenceServer(task=bench.task, arena=arena, n_threads=N_THREADS, cache=default_cache())
    server.choose("eager")
    side = bench.side("eager", server, arena, shape, trusted=True)
    side.calibrate(bench.exam.feed(shape), timeout_s=TIMEOUT_S)
    return server, side


def log_ratios(bench: Bench, first: Side, second: Side, n_pairs: int) -> list[float]:
    """ln(first / second), pair by pair, each first as often as the other."""
    feed, rng, found = bench.exam.feed(bench.exam.shapes("sealed")[0]), random.Random(1), []
    for index in range(n_pairs):
        draws, order = feed.take(max(first.n_draws, second.n_draws)), first.slots(rng)
        pair = [first, second] if index % 2 else [second, first]
        seconds = {id(side): side.sample(draws, order, timeout_s=TIMEOUT_S) for side in pair}
        found.append(math.log(seconds[id(first)] / seconds[id(second)]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=40)
    given = parser.parse_args()
    bench = Bench(load_task(str(TASK), platform="cpu"), n_threads=N_THREADS, cache=default_cache())
    bench.use("equal calls")
    kept, first = started(bench)
    rows = []
    for index in range(given.processes):
        server, second = started(bench)
        for calls in ("own", "agreed"):
            if calls == "agreed":
                agree([first, second])
            else:
                first.n_calls, second.n_calls = first.n_wanted, second.n_wanted
            logs = log_ratios(bench, first, second, given.pairs)
            row = {
                "process": index, "calls": calls, "n_calls": [first.n_calls, second.n_calls],
                "ratio": round(math.exp(statistics.median(logs)), 4), "log_ratios": [round(one, 5) for one in logs],
            }  # fmt: skip
            rows.append(row)
            print({key: value for key, value in row.items() if key != "log_ratios"}, flush=True)
        server.close()
    kept.close()
    bench.close()
    given.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
