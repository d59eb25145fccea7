"""Compiled in one place, run in another: artifacts in a folder, found by language, architecture, task and candidate.

A machine that has a GPU and not the language's compiler takes from `$KERNELEVOLVE_ARTIFACTS` (several folders,
separated as in PATH) and from the cache what `kernelevolve build --out DIR` wrote elsewhere.
"""

from __future__ import annotations

import os
from pathlib import Path

from kernelevolve.errors import RecordError
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.value import canonical_json, sha256_text
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path, keep, recall


def abi_id(task: Task) -> str:
    """Equal for tasks whose arguments have the same names, dims, dtypes and pitches, whatever their shapes."""
    tensors = [
        [s.name, s.dtype, list(s.dims), s.in_place, *([s.pitch] if s.pitch else [])]
        for s in (*task.inputs, *task.outputs)
    ]
    return sha256_text(canonical_json([task.dtype, tensors, len(task.inputs), [axis.name for axis in task.axes]]))


def place(folder: Path, language: str, architecture: str, task: Task, candidate: Candidate) -> Path:
    return folder / language / architecture / f"{candidate.id}-{abi_id(task)[:16]}.json"


def ship(artifact: Artifact, folder: Path, language: str, task: Task, candidate: Candidate) -> Path:
    """Copy what was built into the folder; returns its record there. Raises RecordError when it is no device code."""
    source = Path(artifact.path)
    built = DeviceBuilt.from_json(source.read_text())
    record = place(folder, language, built.architecture, task, candidate)
    keep(record, built, {cubin_path(source, kernel).read_bytes() for kernel in built.kernels}, seconds=artifact.seconds)
    return record


def find(cache: Path, language: str, architecture: str, task: Task, candidate: Candidate) -> Artifact | None:
    """What was shipped for exactly this candidate; None when nothing was, or it is damaged or for another device."""
    named = [Path(text).absolute() for text in os.environ.get("KERNELEVOLVE_ARTIFACTS", "").split(os.pathsep) if text]
    for folder in (*named, cache / "artifacts"):
        record = place(folder, language, architecture, task, candidate)
        found = recall(record)
        if isinstance(found, Artifact) and _fits(record, architecture):
            return found
    return None


def _fits(record: Path, architecture: str) -> bool:
    try:
        return DeviceBuilt.from_json(record.read_text()).architecture == architecture
    except RecordError:
        return False
