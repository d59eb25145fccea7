"""The passes that run a profiler around our launching process. Each is a process of its own: one profiler at a time."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from kernelevolve.diagnosis import ncu, scopes, timeline
from kernelevolve.diagnosis.cuda_rules import COPY_DRAM, DRAM, DURATION
from kernelevolve.diagnosis.device_child import TRACE, TREE
from kernelevolve.diagnosis.device_launcher import COPY_KERNEL
from kernelevolve.diagnosis.found import TIME, Found
from kernelevolve.diagnosis.gathered import Fact, Facts
from kernelevolve.diagnosis.metric_names import (
    ACCESS,
    ALL_STALLS,
    CORE,
    LAUNCH,
    PIPES,
    ROLLUPS,
    STALLS,
    metrics,
    names_on,
)
from kernelevolve.diagnosis.passes import Pass, Subject
from kernelevolve.diagnosis.static_passes import RooflinePass, StaticPass
from kernelevolve.errors import MachineError, UnknownNameError
from kernelevolve.model.diagnosis import Cause, Diagnosis
from kernelevolve.model.profile_job import ProfileJob
from kernelevolve.toolchains.process import run_tool

COUNTERS, MORE_COUNTERS, TIMELINE, SCOPES = "counters", "more counters", "timeline", "scopes"
DEEP = (PIPES, STALLS, ACCESS)
EVERYTHING = (CORE, LAUNCH, PIPES, ALL_STALLS, ACCESS, ROLLUPS)
UNEXPLAINED = (None, Cause.NARROW_ACCESS, Cause.SPILLS)
"""The last two are guesses from the code until counters bear them out."""
N_CALLS = 20
"""Of each candidate where no replay is needed: a median, not one launch."""


Depth = Literal["code", "counters", "full"]
DEPTHS: tuple[Depth, ...] = ("code", "counters", "full")


def depth_of(name: str) -> Depth:
    """Raises UnknownNameError."""
    for depth in DEPTHS:
        if depth == name:
            return depth
    raise UnknownNameError("depth", name, DEPTHS)


def passes_for(depth: Depth) -> tuple[Pass, ...]:
    """code: no GPU is needed. counters: what explains. full: every counter and profiler, for a record."""
    cheap: tuple[Pass, ...] = (StaticPass(), RooflinePass())
    if depth == "code":
        return cheap
    if depth == "counters":
        return (*cheap, NcuPass(), NcuPass(DEEP, follow_up=True))
    return (*cheap, NcuPass(EVERYTHING), TimelinePass(), ScopesPass())


class NcuPass:
    """The device's counters of one call of each candidate, and of a plain copy beside them."""

    name = "ncu"

    def __init__(
        self, sets: Sequence[str] = (CORE, LAUNCH), *, follow_up: bool = False, keep: Path | None = None
    ) -> None:
        """`follow_up`: more counters, for whom the first ones did not explain. `keep`: a file for ncu's own text."""
        self._keep = keep
        self._sets = tuple(sets)
        self._follow_up = follow_up
        self.needs = frozenset({COUNTERS} if follow_up else ())
        self.gives = frozenset({MORE_COUNTERS if follow_up else COUNTERS})

    def wants(self, so_far: Diagnosis) -> bool:
        if self._follow_up:
            return so_far.cause in UNEXPLAINED
        return so_far.cause is not Cause.AT_ROOFLINE

    def run(self, subject: Subject) -> dict[str, Found]:
        isa = next(iter(subject.facts.isa), "")
        names = names_on(isa, metrics(self._sets))
        with tempfile.TemporaryDirectory(prefix="ke-ncu-") as folder:
            log = Path(folder) / "ncu.csv"
            child = _child(subject.job, Path(folder), "range", 1)
            command = ncu.command(list(names.values()), log=log, cold=subject.job.cold, child=child)
            finished = run_tool(command, folder=Path(folder), timeout_s=subject.timeout_s, limited=False)
            text = log.read_text(errors="replace") if log.exists() else finished.text
            if self._keep is not None:
                self._keep.write_text(text)
            if finished.timed_out:
                raise MachineError(f"ncu was not done within {subject.timeout_s:g} s")
            failed = _failure(Path(folder))
        if '"ID"' not in text:
            raise MachineError(failed or ncu.refusal(text))
        return ncu_findings(text, subject.job, names)


class TimelinePass:
    """torch.profiler: when each kernel started and ended, and how many warps were resident by its estimate."""

    name = "torch.profiler"
    needs: frozenset[str] = frozenset()
    gives = frozenset({TIMELINE})

    def wants(self, so_far: Diagnosis) -> bool:
        return so_far.cause is not Cause.AT_ROOFLINE

    def run(self, subject: Subject) -> dict[str, Found]:
        with tempfile.TemporaryDirectory(prefix="ke-timeline-") as folder:
            _run_child(subject, Path(folder), "timeline")
            return timeline.findings((Path(folder) / TRACE).read_text(), subject.job, n_calls=N_CALLS)


class ScopesPass:
    """Proton: time by candidate and kernel, measured by another tool than the others."""

    name = "Proton"
    needs: frozenset[str] = frozenset()
    gives = frozenset({SCOPES})

    def wants(self, so_far: Diagnosis) -> bool:
        return so_far.cause is not Cause.AT_ROOFLINE

    def run(self, subject: Subject) -> dict[str, Found]:
        with tempfile.TemporaryDirectory(prefix="ke-scopes-") as folder:
            _run_child(subject, Path(folder), "scopes")
            tree = (Path(folder) / TREE).with_suffix(".hatchet")
            return scopes.findings(tree.read_text(), subject.job, n_calls=N_CALLS)


def ncu_findings(log: str, job: ProfileJob, names: dict[str, str]) -> dict[str, Found]:
    """From ncu's text to facts by candidate. Raises RecordError and MachineError."""
    expected: list[tuple[str, list[str]]] = [(COPY_KERNEL, [COPY_KERNEL])]
    expected += [(item.label, [launch.function for launch in item.launches]) for item in job.candidates]
    rows = ncu.rows_by_call(ncu.parse(log), expected)
    copies = [ncu.renamed(row.values, names).get(DRAM) for row in rows.get(COPY_KERNEL, [])]
    reference = {COPY_DRAM: copies[0]} if copies and copies[0] is not None else {}
    found = {}
    for item in job.candidates:
        if item.label not in rows:
            continue
        launches = tuple(_with_time(ncu.renamed(row.values, names)) for row in rows[item.label])
        found[item.label] = Found(
            names=tuple(launch.kernel for launch in item.launches), call=Facts(known=reference), launches=launches
        )
    return found


def _with_time(values: dict[str, Fact]) -> Facts:
    time = values.get(DURATION)
    if time is not None and time.unit == "ns":  # a time in a unit that is not known is no time
        values = {**values, TIME: Fact(value=time.value / 1e3, unit="us", source="ncu")}
    return Facts(known=values)


def _child(job: ProfileJob, folder: Path, way: str, n_calls: int) -> list[str]:
    (folder / "job.json").write_text(job.to_json())
    files = [str(folder / "job.json"), str(folder / "result.json")]
    return ["-m", "kernelevolve.diagnosis.device_child", *files, way, str(n_calls)]


def _run_child(subject: Subject, folder: Path, way: str) -> None:
    """Raises MachineError when it did not come to its end."""
    command = [sys.executable, *_child(subject.job, folder, way, N_CALLS)]
    finished = run_tool(command, folder=folder, timeout_s=subject.timeout_s, limited=False)
    if finished.timed_out:
        raise MachineError(f"it was not done within {subject.timeout_s:g} s")
    if failed := _failure(folder):
        raise MachineError(failed)
    if finished.returncode != 0:
        raise MachineError(f"its process ended with {finished.returncode}: {finished.text.strip()[-300:]}")


def _failure(folder: Path) -> str:
    path = folder / "result.json"
    if not path.exists():
        return ""
    result = json.loads(path.read_text())
    where = f" (at {result['where']})" if result["where"] else ""
    return f"{result['error']}{where}" if result["error"] else ""
