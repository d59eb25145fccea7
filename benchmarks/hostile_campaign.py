"""One real campaign over every hostile candidate of the corpus, a good one last: is each judged rightly, is nothing
lost, is nothing left running, and does the good one still win?

    python benchmarks/hostile_campaign.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Closed, Judged, Proposed
from kernelevolve.model.task import SourceFile
from kernelevolve.store import open_store

CORPUS = Path(__file__).parents[1] / "tests" / "hostile"


def read(path: Path) -> tuple[Candidate, set[str]]:
    text = path.read_text()
    expected = re.match(r"// expect: (\S+)", text)
    flags = re.search(r"^// flags: (.*)$", text, re.M)
    assert expected, f"{path} does not say what it expects"
    candidate = Candidate(
        language="cpp",
        files=(SourceFile(path="row_scale.cpp", text=text),),
        flags=tuple(flags[1].split()) if flags else (),
        origin=Origin(proposer="replay", recipe=path.stem),
    )
    return candidate, set(expected[1].split(","))


def main() -> None:
    paths = sorted((CORPUS / "candidates").glob("*.cpp"), key=lambda path: (path.stem == "good", path.stem))
    corpus = {candidate.id: (path.stem, candidate, wanted) for path in paths for candidate, wanted in [read(path)]}
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "tmp").mkdir()
        replay = root / "replay.jsonl"
        replay.write_text("".join(candidate.to_json() + "\n" for _, candidate, _ in corpus.values()))
        environment = dict(os.environ, KERNELEVOLVE_CACHE=str(root / "cache"), TMPDIR=str(root / "tmp"))
        command = [sys.executable, "-m", "kernelevolve.interfaces.cli.main", "run", str(CORPUS / "row_scale")]
        command += ["--proposer", f"replay:{replay}", "--policy", "random", "--max-candidates", str(len(corpus))]
        started = time.monotonic()
        subprocess.run(
            [*command, "--max-seconds", "3600", "--store", str(root / "store"), "--json"],
            env=environment, check=False, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        seconds = time.monotonic() - started
        time.sleep(1.0)
        listing = subprocess.run(["ps", "-ewwo", "stat,args"], capture_output=True, text=True, check=True).stdout
        left = [line for line in listing.splitlines() if str(root) in line and not line.startswith("Z")]
        store = open_store(root / "store")
        events = store.read(store.resolve("latest"))
    steps = {event.step: event.candidate.id for event in events if isinstance(event, Proposed)}
    outcomes = {event.step: event.verdict.outcome.value for event in events if isinstance(event, Judged)}
    closed = next((event for event in events if isinstance(event, Closed)), None)
    wrong = {
        corpus[key][0]: outcomes.get(step) for step, key in steps.items() if outcomes.get(step) not in corpus[key][2]
    }
    print(
        json.dumps(
            {
                "candidates": len(corpus),
                "judged": len(outcomes),
                "verdict_not_as_expected": wrong,
                "outcomes": Counter(outcomes.values()),
                "winner": corpus[steps[closed.winner]][0] if closed and closed.winner else None,
                "processes_left": left,
                "scratch_left": len(list(Path(tempfile.gettempdir()).glob("ke-jail-*"))),
                "seconds": round(seconds, 1),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
