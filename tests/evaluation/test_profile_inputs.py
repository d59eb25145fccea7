"""Candidates made ready for a profiler: what they are launched with is what the judge would launch."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from kernelevolve.errors import UsageError
from kernelevolve.evaluation.profile_inputs import ProfileRequest, prepare
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.profile_job import ProfileJob
from kernelevolve.model.task import Axis, Objective, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.selftest.corpus import candidate_of
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.nvrtc import find_nvrtc

pytestmark = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
REFERENCE = """
import torch


def reference(x, keep, scale, state):
    state.add_(1)
    return x[x > 0][:keep] * scale


def make_inputs(shape, generator, variant):
    x = torch.arange(shape["N"], dtype=torch.bfloat16) - 2
    return {"x": x, "keep": 3, "scale": 0.5, "state": torch.full((shape["N"],), 7, dtype=torch.int32)}
"""
KERNEL = 'extern "C" __global__ void first(const unsigned short* x, int keep, float scale, long long m) {}\n'
KERNEL += 'extern "C" __global__ void second(int* state, float* part, unsigned short* out, double scale) {}\n'
PLAN = """
[[launch]]
kernel = "first"
grid = ["(N+3)/4", "1", "1"]
block = ["tile", "1", "1"]
args = ["x", "keep", "scale", "M"]
[[launch]]
kernel = "second"
grid = ["1", "2", "1"]
block = ["32", "1", "1"]
shared_bytes = "N*8"
args = ["state", "part", "out", "scale"]
[[scratch]]
name = "part"
bytes = "4*N"
[[constant]]
name = "tile"
value = 64
"""


@pytest.fixture
def task() -> Task:
    return Task(
        name="mixed", entry="mixed", platform="cuda", axes=(Axis(name="N"), Axis(name="M", role="output")),
        inputs=(
            TensorSpec(name="x", dtype="bfloat16", dims=("N",)), TensorSpec(name="keep", dtype="int64"),
            TensorSpec(name="scale", dtype="float32"),
            TensorSpec(name="state", dtype="int32", dims=("N",), in_place=True),
        ),
        outputs=(TensorSpec(name="out", dtype="bfloat16", dims=("M",)),), rule=Rule(kind="bitwise"),
        objective=Objective(clock="device", cache="cold"), shapes=ShapeSets(shown=({"N": 10},)),
        files=(SourceFile(path="reference.py", text=REFERENCE),),
    )  # fmt: skip


def ready(task: Task, folder: Path, cache: Path, kernel: str = KERNEL, plan: str = PLAN) -> ProfileJob:
    files = (SourceFile(path="kernel.cu", text=kernel), SourceFile(path="launch.toml", text=plan))
    candidate = Candidate(language="cuda", files=files, origin=Origin(proposer="tests"))
    request = ProfileRequest(task=task, shape={"N": 10}, candidates=(("one", candidate),))
    return prepare(request, folder=folder, cache=cache)


def test_rows_lie_back_to_back_in_a_profile_and_the_kernel_is_told(tmp_path: Path, cache: Path) -> None:
    tests = Path(__file__).parents[1]
    entry = tests / "honest" / "F4_cuda_rows_apart"
    request = ProfileRequest(
        task=load_task(str(tests / "attacks" / "tasks" / "pool_decay"), platform="cuda"), shape={"R": 5, "C": 7},
        candidates=(("one", candidate_of(entry / "kernel.cu", "cuda")),),
    )  # fmt: skip
    job = prepare(request, folder=tmp_path, cache=cache)
    assert [item.value for item in job.candidates[0].launches[0].arguments[5:]] == [5, 7, 7, 7]
    assert job.bytes_moved == 4 * (4 * 35 + 5 + 7)


def test_launches_have_the_judges_numbers(task: Task, tmp_path: Path, cache: Path) -> None:
    job = ready(task, tmp_path, cache)
    first, second = job.candidates[0].launches
    assert (first.kernel, first.grid, first.block, first.shared_bytes) == ("first", (3, 1, 1), (64, 1, 1), 0)
    assert (second.grid, second.block, second.shared_bytes) == ((1, 2, 1), (32, 1, 1), 80)
    half = int.from_bytes(struct.pack("<d", 0.5), "little")
    assert [(item.kind, item.value) for item in first.arguments[1:]] == [("integer", 3), ("real", half), ("integer", 3)]
    assert first.parameter_bytes == (8, 4, 4, 8)
    assert [item.kind for item in second.arguments] == ["pointer", "scratch", "pointer", "real"]
    assert second.parameter_bytes == (8, 8, 8, 8)
    assert job.candidates[0].scratch == (40,)
    assert Path(first.cubin).exists()
    assert any("registers" in text for text in job.candidates[0].messages)


def test_inputs_lie_where_the_pointers_say(task: Task, tmp_path: Path, cache: Path) -> None:
    job = ready(task, tmp_path, cache)
    content = np.fromfile(job.arena, dtype=np.uint8)
    assert content.size == job.arena_bytes
    first, second = job.candidates[0].launches
    at = first.arguments[0].value
    assert list(content[at : at + 20].view(np.uint16)[[0, 2, 9]]) == [0xC000, 0x0000, 0x40E0]  # -2, 0, 7
    at = second.arguments[0].value
    assert list(content[at : at + 40].view(np.int32)) == [7] * 10
    at = second.arguments[2].value
    assert (content[at : at + 6] == 0xFF).all()


def test_counted_bytes_are_the_judges(task: Task, tmp_path: Path, cache: Path) -> None:
    job = ready(task, tmp_path, cache)
    assert job.bytes_moved == 10 * 2 + 2 * 10 * 4 + 3 * 2  # x, state both ways, out
    assert job.cold
    told = ready(task.model_copy(update={"traffic": "N*100"}), tmp_path, cache)
    assert told.bytes_moved == 1000


def test_a_candidate_that_cannot_be_launched_is_named(task: Task, tmp_path: Path, cache: Path) -> None:
    with pytest.raises(UsageError, match="one: .*no kernel 'third'"):
        ready(task, tmp_path, cache, plan=PLAN.replace('"first"', '"third"'))
    with pytest.raises(UsageError, match="one: .*must be 1"):
        ready(task, tmp_path, cache, plan=PLAN.replace('"(N+3)/4"', '"N-10"'))
    with pytest.raises(UsageError, match="one does not build: .*nothing"):
        ready(task, tmp_path, cache, kernel=KERNEL.replace("{}", "{ nothing; }"))
