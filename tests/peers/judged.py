"""Candidates for the smallest operator, and a job for each."""

from __future__ import annotations

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job, Limits, Preparation
from kernelevolve.model.task import SourceFile, Task

SIGNATURE = 'extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C)'
RIGHT = "for (int64_t r = 0; r < R; ++r) for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f;"


def cpp(body: str, *, head: str = "", **headers: str) -> Candidate:
    """`headers`: name without `.h` -> text."""
    source = f"{head}\n{SIGNATURE} {{\n{body}\nreturn 0;\n}}\n"
    files = [SourceFile(path="row_scale.cpp", text=source)]
    files += [SourceFile(path=f"{name}.h", text=text) for name, text in headers.items()]
    return Candidate(language="cpp", files=tuple(files), origin=Origin(proposer="tests"))


def python(source: str) -> Candidate:
    files = (SourceFile(path="kernel.py", text=source),)
    return Candidate(language="python", files=files, origin=Origin(proposer="tests"))


def job(task: Task, candidate: Candidate, *, level: str = "check", call_s: float = 2.0) -> Job:
    return Job.model_validate(
        {
            "task": task, "candidate": candidate, "level": level, "baselines": ("eager",), "secret": "peers",
            "limits": Limits(call_s=call_s, build_s=20.0),
        }
    )  # fmt: skip


def preparation(task: Task) -> Preparation:
    """What all those jobs have in common."""
    return Preparation(task=task, level="check", baselines=("eager",), secret="peers")
