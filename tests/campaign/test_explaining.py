"""A diagnosis during a campaign reads the machine code that the judge left in the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.campaign.explaining import code_of, explain_with_code
from kernelevolve.interfaces.cli.candidates import read_candidate
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Opened, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Outcome, ShapeTiming, Stage, Timing, Verdict
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.nvrtc import find_nvrtc

needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
ATTACKS = Path(__file__).parents[1] / "attacks"
TWICE = """
[[launch]]
kernel = "scale"
grid = ["R", "(C+4095)/4096", "1"]
block = ["256", "1", "1"]
args = ["x", "w", "y", "R", "C"]
[[launch]]
kernel = "scale"
grid = ["R", "(C+4095)/4096", "1"]
block = ["256", "1", "1"]
args = ["x", "w", "y", "R", "C"]
"""


@pytest.fixture
def task() -> Task:
    return load_task(str(ATTACKS / "tasks" / "row_scale"), platform="cuda")


@pytest.fixture
def honest() -> Candidate:
    return read_candidate(ATTACKS / "naive" / "honest_cuda" / "row_scale" / "kernel.cu")


def verdict(latency_us: float) -> Verdict:
    shape = ShapeTiming(shape={"R": 2048, "C": 8191}, latency_us=latency_us, bytes_moved=40_000_000, comparisons=())
    timing = Timing(level="screen", shapes=(shape,), speedup=1.0, low=1.0, high=1.0)
    return Verdict(
        task_id="t", candidate_id="c", outcome=Outcome.CORRECT, stage=Stage.MEASURE, n_checks=1, timing=timing
    )


@needs_nvrtc
def test_the_code_is_read_where_it_is(task: Task, honest: Candidate, cache: Path) -> None:
    facts = PlatformFacts(name="cuda", kind="cuda", n_cores=132, isa=("sm_90",), copy_gb_per_s=4000.0)
    opened = Opened(task=task, settings=Settings(), facts=facts, time="2026-01-02T03:04:05+00:00")
    diagnosis = explain_with_code(verdict(20.0), opened, honest, cache=cache)
    assert diagnosis is not None
    assert diagnosis.scope == "static"


@needs_nvrtc
def test_every_launch_counts(task: Task, honest: Candidate, cache: Path) -> None:
    files = (honest.files[0], SourceFile(path="launch.toml", text=TWICE))
    twice = Candidate(language="cuda", files=files, origin=Origin(proposer="tests"))
    assert [item.name for item in code_of(task, honest, cache=cache)] == ["scale"]
    assert [item.name for item in code_of(task, twice, cache=cache)] == ["scale", "scale"]


def test_what_cannot_be_read_is_left_out(task: Task, honest: Candidate, tmp_path: Path) -> None:
    broken = honest.model_copy(update={"files": (SourceFile(path="kernel.cu", text="nonsense"), honest.files[1])})
    assert code_of(task, broken, cache=tmp_path) == ()
    assert code_of(task, honest.model_copy(update={"language": "nothing"}), cache=tmp_path) == ()
