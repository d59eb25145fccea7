"""The judge's process: reads jobs, answers verdicts, one JSON object a line each. It alone knows the answers.

Builds of waiting jobs run ahead in threads; checking and timing go one at a time. A task's bench (draws, answers,
compiled baselines) is kept while jobs for the same task keep coming.
  in:   {"do": "judge", "work": a Job} | {"do": "prepare" or "admit", "work": a Preparation}
  out:  {"verdict": ..} | {"prepared": true} | {"admission": ..} | {"task_faults": [..], "where": ..}
        | {"machine_error": ".."}
argv: cache_folder
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TextIO

import torch

from kernelevolve.errors import MachineError, RecordError, TaskError
from kernelevolve.evaluation.admission import CONTROLS_VERSION, admit
from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.device import Device
from kernelevolve.evaluation.evaluate import Evaluation
from kernelevolve.evaluation.lane import Lane
from kernelevolve.evaluation.lifetime import die_with_parent, scratch_folder
from kernelevolve.evaluation.runner import runner_binary
from kernelevolve.evaluation.stages.build import Built, build
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.evaluation.template import Templates
from kernelevolve.model.admission import Admission
from kernelevolve.model.job import Job, Preparation
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.verdict import Verdict
from kernelevolve.platforms import make_platform
from kernelevolve.toolchains.cpp import find_compiler


class Judge:
    """Judges jobs of one task after another; usable in-process too, by who starts Python with the variables in
    `farm.process.QUIET`: else this process' own threads spin beside what is timed."""

    def __init__(
        self, *, cache: Path, facts: PlatformFacts | None = None, defences: Defences = ALL, device: Device | None = None
    ) -> None:
        self._cache = cache
        self._device = device
        self._defences = defences
        self._given_facts = facts
        self._facts = {} if facts else {"cpu": make_platform("cpu").facts()}  # measured before anything runs beside
        self._lane = Lane()
        self._bench: Bench | None = None
        self._bench_key = ""
        self._admitted = False  # the bench's task, so that not every job reads the table again
        compiler = find_compiler() or "g++"
        runner_binary(cache, compiler)
        self._templates = Templates(cache=cache, compiler=compiler)

    def verdict(self, job: Job, built: Future[Built] | None = None) -> Verdict:
        """Raises MachineError and TaskError only."""
        bench = self.prepare(job)
        facts = self._facts_of(job.task.platform)
        evaluation = Evaluation(
            job, bench, facts=facts, cache=self._cache, lane=self._lane, templates=self._templates
        )  # fmt: skip
        return evaluation.verdict(built.result() if built is not None else None)

    def prepare(self, job: Preparation) -> Bench:
        """Everything that is done once for a task and level, outside any candidate's account."""
        bench_key = f"{job.task.content_id}|{job.n_threads}"
        if self._bench is None or bench_key != self._bench_key:
            self._close_bench()
            self._bench = Bench(
                job.task, n_threads=job.n_threads, cache=self._cache, defences=self._defences, device=self._device
            )
            self._bench_key = bench_key
            self._admitted = False
        if job.level != "check" and not self._admitted and "admission" in self._defences:
            self._refuse_void(job)
            self._admitted = True
        self._bench.use(job.secret)
        with self._lane.timing(alone=job.task.objective.clock == "host"):
            self._bench.prepare(job.level, job.baselines)
        return self._bench

    def admit(self, job: Preparation) -> Admission:
        """The table of controls; kept, because a task's content decides it."""
        kept = self._cache / "admissions" / f"{job.task.content_id}-{CONTROLS_VERSION}.json"
        if kept.exists():
            with contextlib.suppress(RecordError):  # written by another version: try again
                return Admission.from_json(kept.read_text())
        with tempfile.TemporaryDirectory(prefix="ke-admission-") as folder, self._lane.timing():
            torch.set_num_threads(job.n_threads)
            device = "cuda" if job.task.platform == "cuda" else "cpu"
            admission = admit(TaskModule(job.task, Path(folder), device=device), secret=job.task.content_id)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(admission.to_json())
        return admission

    def _facts_of(self, platform: str) -> PlatformFacts:
        """A GPU's are measured when the first job for it comes. Raises MachineError."""
        if self._given_facts is not None:
            return self._given_facts
        if platform not in self._facts:
            self._facts[platform] = make_platform(platform).facts()
        return self._facts[platform]

    def _refuse_void(self, job: Preparation) -> None:
        void = self.admit(job).void
        if void:
            raise TaskError(job.task.name, [f"void, nothing can be proved with it: {reason}" for reason in void])

    def build_ahead(self, job: Job) -> Built:
        return build(job, cache=self._cache, lane=self._lane, defences=self._defences)

    def close(self) -> None:
        self._close_bench()
        self._templates.close()

    def _close_bench(self) -> None:
        if self._bench is not None:
            self._bench.close()
            self._bench = None


def answer(judge: Judge, verb: str, work: Preparation, built: Future[Built] | None) -> str:
    try:
        if verb == "admit":
            return json.dumps({"admission": json.loads(judge.admit(work).to_json())})
        if not isinstance(work, Job):
            judge.prepare(work)
            return json.dumps({"prepared": True})
        return json.dumps({"verdict": json.loads(judge.verdict(work, built).to_json())})
    except TaskError as error:
        return json.dumps({"task_faults": list(error.faults), "where": error.where})
    except MachineError as error:
        return json.dumps({"machine_error": str(error)})
    except Exception as error:  # noqa: BLE001 - border: a fault of ours must never look like the candidate's
        traceback.print_exc()
        return json.dumps({"machine_error": f"{type(error).__name__}: {error}"})


def main() -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the campaign's business; it closes our stdin
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a reference prints is not an answer
    with scratch_folder():
        serve(Judge(cache=Path(sys.argv[1])), out)


def serve(judge: Judge, out: TextIO) -> None:
    """Answer what comes in on stdin, in order, until it ends."""
    jobs: SimpleQueue[tuple[str, Preparation, Future[Built] | None] | None] = SimpleQueue()
    pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)

    def read() -> None:
        try:
            for line in sys.stdin:
                asked = json.loads(line)
                if asked["do"] != "judge":
                    jobs.put((asked["do"], Preparation.model_validate(asked["work"]), None))
                else:
                    job = Job.model_validate(asked["work"])
                    jobs.put(("judge", job, pool.submit(judge.build_ahead, job)))
        finally:  # a line that is no job ends the judge: whoever waits must not wait for ever
            jobs.put(None)

    Thread(target=read, daemon=True).start()
    out.write(json.dumps({"ready": True}) + "\n")
    while (item := jobs.get()) is not None:
        out.write(answer(judge, *item) + "\n")
    judge.close()
    pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    main()
