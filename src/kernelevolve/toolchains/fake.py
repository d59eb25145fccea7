"""A toolchain that compiles nothing: for trying the loop on a machine without a compiler."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import CompileMessage, LaneName
from kernelevolve.toolchains.base import Artifact, BuildFailure


class FakeToolchain:
    """The "artifact" is the source itself. Source with the word `syntax error` fails to build."""

    language = "fake"
    lane: LaneName = "device_code"
    suffixes = (".fake",)

    def __init__(self, *, cache: Path) -> None:
        self._cache = cache

    def problem(self) -> str | None:
        return None

    def inspect(self, task: Task, candidate: Candidate) -> str | None:
        return None if candidate.language == self.language else f"language is {candidate.language}, not fake"

    def build(self, task: Task, candidate: Candidate, *, timeout_s: float) -> Artifact | BuildFailure:
        for file in candidate.files:
            for number, line in enumerate(file.text.splitlines(), 1):
                if "syntax error" in line:
                    return BuildFailure(messages=(CompileMessage(file=file.path, line=number, message="syntax error"),))
        path = self._cache / f"{candidate.id}.fake"
        cached = path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(candidate.source)
        return Artifact(path=str(path), sha256=candidate.id, seconds=0.0, cached=cached)
