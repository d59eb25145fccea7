"""Device code's runner against a driver that has no device: the protocol, the plan, and whose fault what is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.evaluation.cuda_runner import clock_dispute
from kernelevolve.evaluation.device import HostDevice
from kernelevolve.evaluation.judge import Judge
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Verdict
from kernelevolve.toolchains.device_artifact import machine_code_id
from kernelevolve.toolchains.nvrtc import find_nvrtc

needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
PARAMETERS = "const float* x, const float* w, float* y, long long R, long long C"
ARGS = 'args = ["x", "w", "y", "R", "C"]'
GRID = 'grid = ["R", "(C+255)/256", "1"]\nblock = ["256", "1", "1"]\n'


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("fake_driver.cpp")
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", str(source), "-o", str(folder / "libcuda.so.1")]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture
def judge(cache: Path, facts: PlatformFacts, driver: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    judge = Judge(cache=cache, facts=facts, device=HostDevice())
    yield judge
    judge.close()


def check(judge: Judge, task: Task, plan: str, kernel: str = "scale", call_s: float = 5.0) -> Verdict:
    """Checked, not timed: that needs a device for the baselines too."""
    files = (
        SourceFile(path="kernel.cu", text=f'extern "C" __global__ void {kernel}({PARAMETERS}) {{}}'),
        SourceFile(path="launch.toml", text=plan),
    )
    candidate = Candidate(language="cuda", files=files, origin=Origin(proposer="tests"))
    limits = Limits(call_s=call_s)
    job = Job(task=task, candidate=candidate, level="check", secret="s", limits=limits)
    return judge.verdict(job)


def plan(kernel: str, rest: str = GRID + ARGS) -> str:
    return f'[[launch]]\nkernel = "{kernel}"\n{rest}\n'


@pytest.fixture
def task(row_scale: Task) -> Task:
    return row_scale.model_copy(update={"platform": "cuda"})


@needs_nvrtc
def test_what_the_device_wrote_is_what_is_compared(judge: Judge, task: Task) -> None:
    found = check(judge, task, plan("scale"))
    assert found.correct, found.message
    assert found.lane == "device_code"
    assert {"no-host-code", "seccomp"} <= set(found.isolation)


@needs_nvrtc
@pytest.mark.parametrize(
    ("kernel", "rest", "outcome", "words"),
    [
        ("idle", GRID + ARGS, "unwritten", "y wrong"),
        ("fault", GRID + ARGS, "crashed", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("refuse", GRID + ARGS, "refused", "CUDA_ERROR_INVALID_VALUE"),
        ("absent", GRID + ARGS, "load_failed", "no kernel absent"),
        ("far", GRID + 'args = ["x", "w", "y", "R", "C"]', "out_of_bounds", "outside all tensors"),
        ("scale", GRID + 'args = ["x", "w", "y", "R"]', "refused", "takes 5 parameters, launch.toml gives 4"),
        ("scale", 'grid = ["R-R", "1", "1"]\nblock = ["1", "1", "1"]\n' + ARGS, "refused", "'R-R' is 0"),
        ("scale", 'grid = ["1/(R-R)", "1", "1"]\nblock = ["1", "1", "1"]\n' + ARGS, "refused", "divides by zero"),
        ("scale", 'grid = ["R*C*1000000000", "1", "1"]\nblock = ["1", "1", "1"]\n' + ARGS, "refused", "must be 1.."),
        ("scale", GRID + ARGS + '\n[[scratch]]\nname = "s"\nbytes = "1000000000000"', "refused", "the limit is"),
    ],
)
def test_what_it_may_not_do(
    judge: Judge, task: Task, kernel: str, rest: str, outcome: str, words: str
) -> None:  # fmt: skip
    found = check(judge, task, plan(kernel, rest), kernel)
    assert found.outcome.value == outcome, found.message
    assert words in found.message


@needs_nvrtc
def test_a_kernel_that_does_not_end_is_killed(judge: Judge, task: Task) -> None:
    found = check(judge, task, plan("endless"), "endless", call_s=0.5)
    assert found.outcome.value == "timeout"


@needs_nvrtc
def test_device_code_is_not_timed_against_another_machine(judge: Judge, row_scale: Task) -> None:
    assert "does not run where this task is timed" in check(judge, row_scale, plan("scale")).message


def test_two_clocks_must_agree() -> None:
    assert clock_dispute(1.0e-3, 0.9e-3) is None
    assert clock_dispute(1.0e-3, 1.0e-6) is None, "a short call is mostly the launch"
    assert "cannot be inside" in str(clock_dispute(1.0e-3, 1.2e-3))
    assert "elsewhere" in str(clock_dispute(2.0, 0.1))


@needs_nvrtc
def test_the_same_machine_code_is_not_run_twice(judge: Judge, task: Task) -> None:
    """Only a screen may take another's word, and only within one secret; checks alone are cheap and always done."""
    first = check(judge, task, plan("scale"))
    again = check(judge, task, plan("scale") + "# another source\n")
    assert first.candidate_id != again.candidate_id
    assert not any("same machine code" in report.note for report in again.stages)
    assert machine_code_id(build(judge, task, "// one")) == machine_code_id(build(judge, task, "// two"))
    assert machine_code_id(build(judge, task, "")) != machine_code_id(build(judge, task, "", body="y[0] = x[0];"))


def build(judge: Judge, task: Task, comment: str, body: str = "") -> Path:
    files = (
        SourceFile(path="kernel.cu", text=f'{comment}\nextern "C" __global__ void scale({PARAMETERS}) {{{body}}}'),
        SourceFile(path="launch.toml", text=plan("scale")),
    )
    candidate = Candidate(language="cuda", files=files, origin=Origin(proposer="tests"))
    built = judge.build_ahead(Job(task=task, candidate=candidate, secret="s"))
    assert built.artifact is not None
    return Path(built.artifact.path)


@needs_nvrtc
def test_arrays_of_its_own_count_as_memory(judge: Judge, task: Task) -> None:
    source = f'__device__ char hoard[{2**31}ll];\nextern "C" __global__ void scale({PARAMETERS}) {{ hoard[R] = 1; }}'
    files = (SourceFile(path="kernel.cu", text=source), SourceFile(path="launch.toml", text=plan("scale")))
    candidate = Candidate(language="cuda", files=files, origin=Origin(proposer="tests"))
    job = Job(task=task, candidate=candidate, level="check", secret="s", limits=Limits(memory_bytes=2**30))
    found = judge.verdict(job)
    assert found.outcome.value == "refused", found.message
    assert "arrays of its own" in found.message
