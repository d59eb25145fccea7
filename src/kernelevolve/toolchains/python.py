"""Python modules: the host lane. Nothing is compiled ahead; the judge's interpreter runs the source in its sandbox."""

from __future__ import annotations

import ast
import hashlib
import time
from pathlib import Path

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import CompileMessage, LaneName
from kernelevolve.toolchains.abi import parameter_names
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cache import replace_file
from kernelevolve.toolchains.cpp import MAX_SOURCE_BYTES


class PythonToolchain:
    """The first file defines `entry(inputs.., outputs.., axes..)`; tensors are the judge's memory, on the host or on a
    GPU, to be written in place. It returns None or 0. The artifact is the candidate itself, under its hash."""

    language = "python"
    suffixes = (".py",)
    lane: LaneName = "host"

    def __init__(self, *, cache: Path) -> None:
        self._folder = cache / "python"

    def problem(self) -> str | None:
        return None

    def inspect(self, task: Task, candidate: Candidate) -> str | None:
        if candidate.language != self.language:
            return f"language is {candidate.language}, this toolchain runs {self.language}"
        for file in candidate.files:
            if not file.path.endswith(".py") or "/" in file.path:
                return f"{file.path}: a Python candidate is one or several .py files side by side"
        if candidate.flags:
            return f"flag {candidate.flags[0]!r}: a Python candidate takes no flags"
        if sum(len(file.text) for file in candidate.files) > MAX_SOURCE_BYTES:
            return f"source is larger than {MAX_SOURCE_BYTES} bytes"
        if task.entry not in candidate.files[0].text:
            device = "; for device code with a launch.toml say its language" if task.platform == "cuda" else ""
            return f"no function '{task.entry}' in {candidate.files[0].path}: def {signature(task)}{device}"
        return None

    def build(self, task: Task, candidate: Candidate, *, timeout_s: float) -> Artifact | BuildFailure:
        """Checks the syntax; imports nothing."""
        started = time.monotonic()
        for file in candidate.files:
            try:
                ast.parse(file.text, file.path)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                line = getattr(error, "lineno", 0) or 0
                message = CompileMessage(file=file.path, line=line, message=f"{type(error).__name__}: {error}"[:500])
                return BuildFailure(messages=(message,), seconds=time.monotonic() - started)
        path = self._folder / candidate.id[:2] / f"{candidate.id}.json"
        data = candidate.model_dump_json(include={"language", "files"}).encode()
        cached = path.exists() and path.read_bytes() == data
        if not cached:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)
        return Artifact(
            path=str(path), sha256=hashlib.sha256(data).hexdigest(), seconds=time.monotonic() - started, cached=cached
        )


def signature(task: Task) -> str:
    """How the entry point of a Python candidate is called."""
    return f"{task.entry}({', '.join(parameter_names(task))})"
