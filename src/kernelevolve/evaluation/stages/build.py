"""inspect and build: the two stages that need no bench, so they can run ahead of the judge's turn."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.lane import Lane
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import LaneName, Outcome, Stage, StageReport
from kernelevolve.toolchains import TOOLCHAINS, make_toolchain, runs_on
from kernelevolve.toolchains.base import Artifact, BuildFailure


@dataclass(frozen=True, kw_only=True)
class Built:
    """What inspection and the compiler said. Exactly one of `artifact` and `fault` is there."""

    reports: tuple[StageReport, ...]
    artifact: Artifact | None = None
    fault: CandidateFault | None = None
    kind: LaneName = "host"


def _misplaced(job: Job) -> str | None:
    """A kernel on one machine against baselines on another proves nothing."""
    language, platform = job.candidate.language, job.task.platform
    if runs_on(language, platform):
        return None
    return f"a candidate in {language} does not run where this task is timed ({platform})"


def build(job: Job, *, cache: Path, lane: Lane, defences: Defences = ALL) -> Built:
    """Raises MachineError when there is no compiler; what the candidate did wrong is in `fault`."""
    started = time.monotonic()
    kind: LaneName = "host"
    if job.candidate.language not in TOOLCHAINS:
        known = ", ".join(sorted(TOOLCHAINS))
        refusal: str | None = f"unknown language '{job.candidate.language}'; known: {known}"
    else:
        toolchain = make_toolchain(job.candidate.language, cache=cache)
        kind = toolchain.lane
        refusal = _misplaced(job) or (toolchain.inspect(job.task, job.candidate) if "inspection" in defences else None)
    reports = [StageReport(stage=Stage.INSPECT, seconds=round(time.monotonic() - started, 4))]
    if refusal is not None:
        return Built(reports=tuple(reports), kind=kind, fault=CandidateFault(Outcome.REJECTED, refusal))
    with lane.building():
        started = time.monotonic()
        result = toolchain.build(job.task, job.candidate, timeout_s=job.limits.build_s)
        seconds = round(time.monotonic() - started, 4)
    note = "cached" if isinstance(result, Artifact) and result.cached else ""
    reports.append(StageReport(stage=Stage.BUILD, seconds=seconds, note=note))
    if isinstance(result, BuildFailure):
        first = result.messages[0]
        where = f"{first.file}:{first.line}: {first.message}"
        fault = CandidateFault(Outcome.BUILD_FAILED, where, compile_messages=result.messages)
        return Built(reports=tuple(reports), kind=kind, fault=fault)
    return Built(reports=tuple(reports), kind=kind, artifact=result)
