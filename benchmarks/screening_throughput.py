"""Candidates per hour through the full check and screen, with the seconds of every phase.

    python benchmarks/screening_throughput.py [--task softmax] [--candidates 120] [--threads 2]

Every candidate is another source (a knob or a comment differs), so every one is compiled. Builds of the next
candidate overlap with the judging of the one before, as in a campaign.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.brief import Brief, Move, Operator
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import Verdict
from kernelevolve.platforms import make_platform
from kernelevolve.proposers import make_proposer
from kernelevolve.tasks import load_task


def candidates(task_name: str, n: int) -> list[Candidate]:
    """`n` distinct candidates: the built-in proposer's drafts, then the same ones with a numbered comment."""
    task = load_task(task_name)
    brief = Brief(
        task=task.public(), facts=make_platform("cpu").facts(), move=Move(operator=Operator.DRAFT), n_wanted=n, seed=1
    )
    made = make_proposer("builtin").propose(brief)[:n]
    for index in range(n - len(made)):
        base = made[index % len(made)]
        first = base.files[0]
        text = f"{first.text}\n// variant {index}\n"
        made.append(base.model_copy(update={"files": (SourceFile(path=first.path, text=text), *base.files[1:])}))
    return made


def phases(verdicts: list[Verdict]) -> dict[str, float]:
    """Median seconds a candidate spends in each stage."""
    stages = {report.stage.value for verdict in verdicts for report in verdict.stages}
    return {
        stage: statistics.median(
            sum(report.seconds for report in verdict.stages if report.stage.value == stage) for verdict in verdicts
        )
        for stage in sorted(stages)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="softmax")
    parser.add_argument("--candidates", type=int, default=120)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    task = load_task(arguments.task)
    todo = candidates(arguments.task, arguments.candidates)
    with tempfile.TemporaryDirectory() as folder:
        farm = ProcessFarm(n_threads=arguments.threads, cache_dir=Path(folder))

        def submit(candidate: Candidate) -> object:
            return farm.submit(Job(task=task, candidate=candidate, secret="benchmark", n_threads=arguments.threads))

        farm.submit(Job(task=task, candidate=todo[0], secret="benchmark", n_threads=arguments.threads)).result()  # type: ignore[call-arg]
        started = time.monotonic()
        verdicts: list[Verdict] = []
        waiting = [submit(todo[0])]
        for candidate in [*todo[1:], None]:
            if candidate is not None:
                waiting.append(submit(candidate))
            verdicts.append(waiting.pop(0).result())  # type: ignore[attr-defined]
        seconds = time.monotonic() - started
        farm.close()
    print(
        json.dumps(
            {
                "task": arguments.task,
                "candidates": len(verdicts),
                "distinct": len({verdict.candidate_id for verdict in verdicts}),
                "seconds": round(seconds, 2),
                "candidates_per_hour": round(3600 * len(verdicts) / seconds),
                "median_phase_seconds": phases(verdicts),
                "outcomes": Counter(verdict.outcome.value for verdict in verdicts),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
