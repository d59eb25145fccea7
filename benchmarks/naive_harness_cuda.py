"""Does the naive GPU harness fall for the attacks in device code?

    python benchmarks/naive_harness_cuda.py --out FOLDER

Those that only want to be called correct run side by side; those that want to look fast run alone, against the task's
honest kernel timed in the same way.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "src")]

from kernelevolve.selftest.corpus import ON_GPU, Entry, attacks, default_root  # noqa: E402
from tests.attacks.naive.harness_cuda import FASTER, HONEST, score  # noqa: E402

N_TOGETHER = 6


def looked_at(entry: Entry, text: str, fooled: bool) -> dict[str, Any]:
    print(f"{'FOOLED    ' if fooled else 'NOT FOOLED'} {entry.name}: {text}", file=sys.stderr, flush=True)
    return {"name": entry.name, "row": entry.row, "wants": entry.naive, "fooled": fooled, "text": text}


def correct(entry: Entry) -> dict[str, Any]:
    got = score(entry.task_folder, entry.source, entry.options)
    return looked_at(entry, got["text"], bool(got["correct"]))


def faster(entry: Entry, honest: dict[str, float]) -> dict[str, Any]:
    got = score(entry.task_folder, entry.source, entry.options)
    key = f"{entry.task_folder.name} {json.dumps(entry.options, sort_keys=True)}"
    if key not in honest:
        source = HONEST / entry.task_folder.name / entry.source.name
        honest[key] = statistics.median(score(entry.task_folder, source, entry.options)["speedup"] for _ in range(3))
    text = f"{got['text']}; honest {honest[key]:.2f}x"
    return looked_at(entry, text, bool(got["correct"]) and got["speedup"] > FASTER * honest[key])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--only", default="", help="entries whose name starts with this")
    options = parser.parse_args()
    entries = [e for e in attacks(default_root()) if e.lane in ON_GPU and e.name.startswith(options.only)]
    started = time.monotonic()
    with ThreadPoolExecutor(N_TOGETHER) as pool:
        found = list(pool.map(correct, [entry for entry in entries if entry.naive == "correct"]))
    honest: dict[str, float] = {}
    found += [faster(entry, honest) for entry in entries if entry.naive == "faster"]
    n_fooled = sum(item["fooled"] for item in found)
    print(f"fooled by {n_fooled} of {len(found)} in {time.monotonic() - started:.0f} s", file=sys.stderr)
    (options.out / "naive_cuda.json").write_text(json.dumps({"found": found}, indent=1) + "\n")
    return 0 if n_fooled == len(found) else 3


if __name__ == "__main__":
    sys.exit(main())
