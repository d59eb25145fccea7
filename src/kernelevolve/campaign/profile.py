"""Why candidates for a GPU are not faster: made ready in a process of their own, then looked at pass by pass."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelevolve.diagnosis.found import Found, unknown
from kernelevolve.diagnosis.passes import Subject, diagnoses, run_passes
from kernelevolve.diagnosis.profiler_passes import Depth, passes_for
from kernelevolve.errors import MachineError, UsageError
from kernelevolve.evaluation.profile_inputs import ProfileRequest
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis, Unknown
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.profile_job import ProfileJob
from kernelevolve.model.task import Shape, Task
from kernelevolve.toolchains.process import run_tool

READY_TIMEOUT_S, PROFILE_TIMEOUT_S = 600.0, 300.0


@dataclass(frozen=True, kw_only=True)
class Profiled:
    """`found` is everything that is known; `diagnoses` what follows from it."""

    shape: Shape
    found: Mapping[str, Found]
    diagnoses: Mapping[str, Diagnosis]
    unknown: tuple[Unknown, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Candidates by label, on one shape of a task. `latency_us`: the judge's, by label. `operations` a call, and how
    many a second the device can do, where the task counts them."""

    task: Task
    shape: Shape
    candidates: Mapping[str, Candidate]
    latency_us: Mapping[str, float] = field(default_factory=dict)
    operations: float | None = None
    operations_per_s: float | None = None


def profile(
    wanted: Wanted, *, facts: PlatformFacts, depth: Depth, cache: Path, everything: bool = False
) -> Profiled:  # fmt: skip
    """`everything`: also look at candidates that have nothing left to win. Raises UsageError, TaskError and
    MachineError; a pass that fails is no error, what it would have told is unknown."""
    with tempfile.TemporaryDirectory(prefix="ke-profile-") as name:
        subject = Subject(
            job=made_ready(wanted, Path(name), cache), facts=facts, latency_us=wanted.latency_us,
            operations=wanted.operations, operations_per_s=wanted.operations_per_s, timeout_s=PROFILE_TIMEOUT_S,
        )  # fmt: skip
        found = run_passes(passes_for(depth), subject, everything=everything)
    return Profiled(shape=wanted.shape, found=found, diagnoses=diagnoses(found), unknown=unknown(found))


def made_ready(wanted: Wanted, folder: Path, cache: Path) -> ProfileJob:
    """Built and with inputs, in files in `folder`. Raises UsageError and MachineError."""
    request = ProfileRequest(task=wanted.task, shape=wanted.shape, candidates=tuple(wanted.candidates.items()))
    (folder / "request.json").write_text(request.to_json())
    command = [sys.executable, "-m", "kernelevolve.evaluation.profile_inputs"]
    command += [str(folder / "request.json"), str(folder), str(cache)]
    finished = run_tool(command, folder=folder, timeout_s=READY_TIMEOUT_S, limited=False)
    ready = folder / "job.json"
    if finished.timed_out:
        raise MachineError(f"inputs were not ready within {READY_TIMEOUT_S:g} s")
    if not ready.exists():
        lines = finished.text.strip().splitlines() or [f"it ended with {finished.returncode}"]
        raise UsageError(f"nothing can be profiled: {lines[-1][:400]}")
    return ProfileJob.from_json(ready.read_text())
