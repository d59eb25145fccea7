"""What it costs to judge a correct candidate, beyond its build: seconds per stage, for kernels of about 1 ms.

Each candidate differs from the last by a comment, so every one is built, checked and timed anew, at the level a search
uses. The task's answers and baselines are made once, as in a campaign; that time is printed apart.

    python benchmarks/judgement_cost.py --out docs/results/judge/cost.jsonl [--candidates 30]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from judge_statistics import KERNEL, MEMORY_KERNEL, kernel, memory_task, task  # noqa: E402

from kernelevolve.farm import make_farm  # noqa: E402
from kernelevolve.model.candidate import Candidate, Origin  # noqa: E402
from kernelevolve.model.job import Job  # noqa: E402
from kernelevolve.model.task import SourceFile, Task  # noqa: E402
from kernelevolve.tasks import load_task  # noqa: E402
from kernelevolve.toolchains.cache import default_cache  # noqa: E402

PYTHON = "import torch\n\ndef softmax(x, out, R, C):\n    torch.softmax(x, -1, out=out)\n"


def python_kernel(mark: str) -> Candidate:
    file = SourceFile(path="kernel.py", text=f"# {mark}\n{PYTHON}")
    return Candidate(language="python", files=(file,), origin=Origin(proposer="benchmark", recipe=mark))


def cases(number: int) -> list[tuple[str, Task, Candidate]]:
    mark = f"candidate {number}"
    return [
        ("computes, C++", task(), kernel(0, 1, mark, KERNEL)),
        ("waits for memory, C++", memory_task(), kernel(0, 1, mark, MEMORY_KERNEL)),
        ("softmax, Python", load_task("softmax"), python_kernel(mark)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--candidates", type=int, default=30)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    run = time.time_ns()  # no candidate of an earlier run comes out of the build cache
    with (
        options.out.open("w") as out,
        closing(make_farm("process", n_threads=1, cache_dir=default_cache())) as farm,
    ):
        for index in range(3):
            rows = []
            for number in range(options.candidates + 1):
                name, of, candidate = cases(run + number)[index]
                job = Job(task=of, candidate=candidate, level="screen", secret="cost", n_threads=1)
                started = time.monotonic()
                verdict = farm.submit(job).result()
                wall_s = time.monotonic() - started
                assert verdict.timing is not None, verdict.message
                stages = {report.stage.value: report.seconds for report in verdict.stages}
                beyond_build_s = wall_s - stages["build"] - stages["inspect"]
                line = {
                    "case": name, "first": number == 0, "wall_s": wall_s, "beyond_build_s": beyond_build_s, **stages,
                    "start_and_rest_s": beyond_build_s - stages["check"] - stages["measure"],
                    "latency_us": [shape.latency_us for shape in verdict.timing.shapes], "checks": verdict.n_checks,
                }  # fmt: skip
                out.write(json.dumps(line) + "\n")
                if number:
                    rows.append(line)
                else:
                    print(f"{name}: the first one, with answers and baselines: {wall_s:.1f} s")
            middle = {
                key: statistics.median(row[key] for row in rows)
                for key in ("beyond_build_s", "build", "start_and_rest_s", "check", "measure")
            }
            worst = max(row["beyond_build_s"] for row in rows)
            latency = ", ".join(f"{value:.0f}" for value in rows[0]["latency_us"])
            print(
                f"{name}: {middle['beyond_build_s']:.2f} s median beyond the build (worst {worst:.2f}): process start "
                f"and rest {middle['start_and_rest_s']:.2f}, check {middle['check']:.2f}, measure "
                f"{middle['measure']:.2f}; build {middle['build']:.2f}; {rows[0]['checks']} outputs compared in full; "
                f"kernel {latency} us"
            )


if __name__ == "__main__":
    main()
