"""From a candidate's files to its diagnosis, with a driver and an ncu that only pretend."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelevolve.campaign.profile import Profiled, Wanted, profile
from kernelevolve.diagnosis.found import TIME
from kernelevolve.errors import UsageError
from kernelevolve.interfaces.cli.candidates import read_candidate
from kernelevolve.interfaces.cli.profile import profile as command
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.diagnosis import Cause
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.nvrtc import find_nvrtc

pytestmark = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
HERE = Path(__file__).parent
ATTACKS = HERE.parent / "attacks"
FACTS = PlatformFacts(
    name="cuda", kind="cuda", n_cores=4, isa=("sm_90",), l2_bytes=2**16, copy_gb_per_s=100.0, cached_copy_gb_per_s=200.0
)
SHAPE = {"R": 12, "C": 100}
MIXED = 'extern "C" __global__ void mixed(float* part, int n, float a, double b, long long m) {}\n'
PLAN = """
[[launch]]
kernel = "mixed"
grid = ["R", "1", "1"]
block = ["32", "2", "1"]
shared_bytes = "65536"
args = ["part", "R", "C", "C", "0-R*C"]
[[scratch]]
name = "other"
bytes = "10"
[[scratch]]
name = "part"
bytes = "4*R"
"""
Look = Callable[..., Profiled]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the driver, and an `ncu` beside it."""
    folder = tmp_path_factory.mktemp("tools")
    source, made = HERE / "logging_driver.cpp", folder / "libcuda.so.1"
    subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
    (folder / "ncu").write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_ncu.py"} "$@"\n')
    (folder / "ncu").chmod(0o755)
    return folder


@pytest.fixture
def task() -> Task:
    return load_task(str(ATTACKS / "tasks" / "row_scale"), platform="cuda")


@pytest.fixture
def honest() -> Candidate:
    return read_candidate(ATTACKS / "naive" / "honest_cuda" / "row_scale" / "kernel.cu")


def made(source: str, plan: str) -> Candidate:
    files = (SourceFile(path="kernel.cu", text=source), SourceFile(path="launch.toml", text=plan))
    return Candidate(language="cuda", files=files, origin=Origin(proposer="tests"))


@pytest.fixture
def look(tools: Path, cache: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> Look:
    import os

    monkeypatch.setenv("LD_LIBRARY_PATH", str(tools))
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")

    def looked(depth: str = "counters", latency: dict[str, float] | None = None, **candidates: Candidate) -> Profiled:
        wanted = Wanted(task=task, shape=SHAPE, candidates=candidates, latency_us=latency or {})
        return profile(wanted, facts=FACTS, depth=depth, cache=cache)  # type: ignore[arg-type]

    return looked


def test_counters_and_code_meet_in_one_diagnosis(look: Look, honest: Candidate) -> None:
    found = look(one=honest, two=made(MIXED, PLAN))
    one = found.found["one"]
    assert one.launches[0].get(TIME) == 9.0
    assert one.launches[0].get("grid_blocks") == 12.0
    assert one.call.get("counted_bytes") == 4.0 * (12 * 100 * 2 + 100)
    assert one.call.get("copy_dram_pct") == 70.5
    assert one.launches[0].get("dram__bytes_write.sum") is None
    diagnosis = found.diagnoses["one"]
    assert (diagnosis.cause, diagnosis.scope) == (Cause.DRAM_BOUND, "counters")
    assert found.diagnoses["two"].scope == "counters"
    assert found.unknown == () or {item.what for item in found.unknown} == {"instruction mix"}


def test_without_ncu_the_code_is_still_explained(
    look: Look, honest: Candidate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PE60"""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = look(one=honest)
    reasons = {item.what: item.why for item in found.unknown}
    assert "no ncu" in reasons["counters"]
    assert "needs counters" in reasons["more counters"]
    assert found.diagnoses["one"].scope == "static"
    assert (found.found["one"].launches[0].get("registers") or 0) > 0


def test_who_is_at_the_floor_is_left_alone(look: Look, honest: Candidate) -> None:
    floor_us = 4.0 * (12 * 100 * 2 + 100) / 100e3
    found = look(latency={"one": floor_us / 0.95}, one=honest)
    assert found.diagnoses["one"].cause is Cause.AT_ROOFLINE
    assert not found.found["one"].launches[0].has(TIME)


def test_code_needs_no_device(cache: Path, task: Task, honest: Candidate) -> None:
    wanted = Wanted(task=task, shape=SHAPE, candidates={"one": honest})
    facts = PlatformFacts(name="cuda", kind="cuda")
    found = profile(wanted, facts=facts, depth="code", cache=cache)
    assert found.diagnoses["one"].scope == "static"
    assert found.found["one"].names == ("scale",)


def test_a_profiler_that_cannot_start_is_unknown(look: Look, honest: Candidate) -> None:
    """There is no torch for CUDA here, and no Triton."""
    found = look("full", one=honest)
    what = {item.what for item in found.unknown}
    assert {"timeline", "scopes"} <= what
    assert found.diagnoses["one"].scope == "counters"


def test_what_does_not_build_or_fit_is_said_by_name(look: Look) -> None:
    with pytest.raises(UsageError, match="mine does not build"):
        look(mine=made('extern "C" __global__ void mixed(float* p) { nothing; }', PLAN))
    with pytest.raises(UsageError, match="mine: .*must be 1"):
        look(mine=made(MIXED, PLAN.replace('"R", "1", "1"', '"R-12", "1", "1"')))


@pytest.mark.parametrize("shape", ["R=12", "R=12,C=x", "R=12,C=0", "rubbish"])
def test_a_shape_that_is_none_is_refused(shape: str) -> None:
    folder = ATTACKS / "naive" / "honest_cuda" / "row_scale" / "kernel.cu"
    with pytest.raises(UsageError, match="--shape"):
        command(str(ATTACKS / "tasks" / "row_scale"), [folder], shape=shape, depth="code")


def test_the_command_prints_a_diagnosis(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ATTACKS / "naive" / "honest_cuda" / "row_scale" / "kernel.cu"
    assert command(str(ATTACKS / "tasks" / "row_scale"), [folder], shape="R=12,C=100", depth="code") == 0
    out = capsys.readouterr().out
    assert out.startswith("shape R=12 C=100")
    assert "kernel.cu: " in out
