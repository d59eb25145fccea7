"""kill -9 of the whole process tree of real campaigns at random moments, then `resume`: is anything lost or done twice?

    python benchmarks/kill_and_resume.py [--kills 20] [--candidates 8]

The task, the judge, the compiler and the candidates are real; moves come from the random policy and candidates from a
replay file, so that the tree does not depend on timings and an interrupted campaign can be compared with an unbroken
one. Every campaign is killed once, at a moment drawn uniformly over the duration of the unbroken run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Confirmed, Event, Judged, Proposed, Sealed
from kernelevolve.model.task import SourceFile
from kernelevolve.store import open_store

HOSTILE = Path(__file__).parents[1] / "tests" / "hostile"


def write_replay(path: Path, n: int) -> None:
    """`n` candidates: right ones with another loop each, and every third one a failure of another kind."""
    good = (HOSTILE / "candidates" / "good.cpp").read_text()
    failures = sorted(
        file
        for file in (HOSTILE / "candidates").glob("*.cpp")
        if file.stem in ("writes_nan", "null_write", "syntax_error")
    )
    lines = []
    for index in range(n):
        text = failures[index // 3 % len(failures)].read_text() if index % 3 == 2 else good
        file = SourceFile(path="row_scale.cpp", text=f"{text}\n// variant {index}\n")
        lines.append(Candidate(language="cpp", files=(file,), origin=Origin(proposer="replay")).to_json())
    path.write_text("\n".join(lines) + "\n")


def command(store: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "kernelevolve.interfaces.cli.main", *words, "--store", str(store), "--json"]


def start(store: Path, replay: Path, n: int) -> subprocess.Popen[bytes]:
    words = ["run", str(HOSTILE / "row_scale"), "--proposer", f"replay:{replay}", "--policy", "random"]
    words += ["--max-candidates", str(n), "--max-seconds", "600", "--seed", "7"]
    return subprocess.Popen(
        command(store, *words), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def tree(store: Path) -> list[tuple[object, ...]]:
    """Everything but the timings: which step made which candidate how, and what came of it."""
    kept = open_store(store)
    rows: list[tuple[object, ...]] = []
    for event in kept.read(kept.resolve("latest")):
        if isinstance(event, Proposed):
            rows.append(("proposed", event.step, event.move.operator.value, event.move.parents, event.candidate.id))
        elif isinstance(event, Judged):
            rows.append(("judged", event.step, event.verdict.outcome.value, event.same_as))
    return rows


def judged_twice(store: Path) -> int:
    kept = open_store(store)
    events: list[Event] = kept.read(kept.resolve("latest"))
    counts = Counter((event.kind, event.step) for event in events if isinstance(event, Judged | Confirmed | Sealed))
    return sum(count > 1 for count in counts.values())


def descendants(root: Path) -> list[str]:
    """Living processes of ours: judges, runners and baselines all carry a path under `root` on their command line."""
    listing = subprocess.run(["ps", "-ewwo", "stat,args"], capture_output=True, text=True, check=True).stdout
    words = ("ke-runner", "kernelevolve.evaluation")
    lines = [line for line in listing.splitlines() if any(word in line for word in words) and not line.startswith("Z")]
    return [line for line in lines if str(root) in line]


def interrupted(folder: Path, replay: Path, n: int, delay_s: float) -> tuple[list[tuple[object, ...]], int, int]:
    """(tree, judged twice, processes left after the kill) of a campaign killed after `delay_s` and resumed."""
    process = start(folder, replay, n)
    time.sleep(delay_s)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(1.0)
    left = len(descendants(folder.parent))
    if not (folder / "store.db").exists() and not any(folder.glob("*.db")):
        start(folder, replay, n).wait()  # killed before the campaign was opened: there is nothing to resume
    elif not open_store(folder).campaigns():
        start(folder, replay, n).wait()
    else:
        subprocess.run(command(folder, "resume"), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return tree(folder), judged_twice(folder), left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "tmp").mkdir()
        os.environ["KERNELEVOLVE_CACHE"], os.environ["TMPDIR"] = str(root / "cache"), str(root / "tmp")
        replay = root / "replay.jsonl"
        write_replay(replay, arguments.candidates)
        started = time.monotonic()
        start(root / "unbroken", replay, arguments.candidates).wait()
        duration_s = time.monotonic() - started
        wanted = tree(root / "unbroken")
        assert len(wanted) == 2 * arguments.candidates, f"the unbroken run gave {len(wanted)} events"
        rows = []
        for index in range(arguments.kills):
            delay_s = rng.uniform(0.2, duration_s)
            got, twice, left = interrupted(root / f"k{index}", replay, arguments.candidates, delay_s)
            rows.append(
                {"delay_s": round(delay_s, 2), "same": got == wanted, "judged_twice": twice, "left_running": left}
            )
            print(json.dumps(rows[-1]), flush=True)
    print(
        json.dumps(
            {
                "unbroken_s": round(duration_s, 1),
                "kills": len(rows),
                "same_tree": sum(bool(row["same"]) for row in rows),
                "judged_twice": sum(int(row["judged_twice"]) for row in rows),
                "left_running": sum(int(row["left_running"]) for row in rows),
            }
        )
    )


if __name__ == "__main__":
    main()
