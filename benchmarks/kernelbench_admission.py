"""KernelBench's known flaws before our admission: the void problems must be refused, clean ones admitted.

Every problem is a restatement at reduced size (tests/admission/kernelbench). Two columns: as shipped (the suite's own
tolerance, inputs and initial parameters) and as this project judges them (relative rule, redrawn parameters, more input
distributions), under which some of the void ones become sound.

    python benchmarks/kernelbench_admission.py --out docs/results/judge/kernelbench-admission.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import torch

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.admission import admit
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.tasks import load_task

PROBLEMS = Path(__file__).parents[1] / "tests" / "admission" / "kernelbench"


def reasons(path: Path, *, as_shipped: bool) -> list[str]:
    """Why the problem is refused; empty when it is admitted."""
    try:
        task = load_task(str(path), as_shipped=as_shipped)
        with tempfile.TemporaryDirectory() as folder:
            return list(admit(TaskModule(task, Path(folder)), secret="kernelbench").void)
    except TaskError as error:
        return [f"not loaded: {fault}" for fault in error.faults]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(2)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    counts = {(kind, mode): [0, 0] for kind in ("void", "clean") for mode in ("as shipped", "as judged here")}
    with options.out.open("w") as out:
        for path in sorted(PROBLEMS.glob("*/l*.py")):
            kind, started = path.parent.name, time.monotonic()
            line: dict[str, object] = {"problem": path.stem, "kind": kind}
            for mode, as_shipped in (("as shipped", True), ("as judged here", False)):
                found = reasons(path, as_shipped=as_shipped)
                counts[kind, mode][0] += bool(found)
                counts[kind, mode][1] += 1
                line[mode] = found
            line["seconds"] = round(time.monotonic() - started, 1)
            out.write(json.dumps(line) + "\n")
            out.flush()
            marks = ["refused" if line[mode] else "admitted" for mode in ("as shipped", "as judged here")]
            print(f"{kind:6} {path.stem:60} {marks[0]:9} {marks[1]}", file=sys.stderr, flush=True)
    for (kind, mode), (refused, of) in counts.items():
        print(f"{kind}, {mode}: {refused} of {of} refused")


if __name__ == "__main__":
    main()
