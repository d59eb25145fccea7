"""Triton's and Gluon's kernels before the judge, on a real GPU: what was compiled without it is launched as planned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.evaluation.judge import Judge
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.task import ShapeSets, Task
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.tasks import load_task
from kernelevolve.testing.toolchain_case import made
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.libcuda import gpu

pytestmark = [pytest.mark.device, pytest.mark.skipif(gpu() is None, reason="needs an NVIDIA GPU")]
TASK = str(Path(__file__).parents[1] / "attacks" / "tasks" / "row_scale")
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
TRITON = f"""\
{HEAD}def row_scale(x, w, y, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < C
    scaled = tl.load(x + row * C + at, mask=inside) * tl.load(w + at, mask=inside) + 1
    tl.store(y + row * C + at, scaled, mask=inside)
"""
GLUON = """\
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def row_scale(x, w, y, C, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    row = gl.program_id(0).to(gl.int64)
    at = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout)
    inside = at < C
    scaled = gl.load(x + row * C + at, mask=inside) * gl.load(w + at, mask=inside) + 1
    gl.store(y + row * C + at, scaled, mask=inside)
"""
PLAN = """\
[[launch]]
kernel = "row_scale"
grid = ["R", "(C+1023)/1024", "1"]
args = ["x", "w", "y", "C:i32"]
constexprs = { BLOCK = 1024 }
num_warps = 4
"""
DESCRIPTORS = f"""\
{HEAD}def row_scale(x, w, y, R, C, BR: tl.constexpr, BC: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[R, C], strides=[C, 1], block_shape=[BR, BC])
    target = tl.make_tensor_descriptor(y, shape=[R, C], strides=[C, 1], block_shape=[BR, BC])
    at = tl.program_id(1) * BC + tl.arange(0, BC)
    place = [tl.program_id(0) * BR, tl.program_id(1) * BC]
    target.store(place, source.load(place) * tl.load(w + at, mask=at < C)[None, :] + 1)
"""
DESCRIPTOR_PLAN = """\
[[launch]]
kernel = "row_scale"
grid = ["(R+31)/32", "(C+63)/64", "1"]
args = ["x", "w", "y", "R:i32", "C:i64:16"]
constexprs = { BR = 32, BC = 64 }
"""
SECOND = """

@triton.jit
def twice(part, y, C, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * C + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK) < C
    tl.store(y + at, tl.load(part + at, mask=inside), mask=inside)
"""


@pytest.fixture(scope="module")
def judge(cache: Path) -> Iterator[Judge]:
    judge = Judge(cache=cache)
    yield judge
    judge.close()


def judged(judge: Judge, candidate: Candidate, task: Task | None = None, level: str = "check") -> Verdict:
    problem = make_toolchain(candidate.language, cache=Path("/nowhere")).problem()
    if problem is not None and os.environ.get("KERNELEVOLVE_OFFLINE"):
        pytest.skip(f"{problem} (KERNELEVOLVE_OFFLINE is set)")
    base = {"task": task or load_task(TASK, platform="cuda"), "candidate": candidate, "secret": "s/1", "n_threads": 4}
    return judge.verdict(
        Job.model_validate({**base, "baselines": ("eager",), "level": level, "limits": Limits(call_s=2.0)})
    )


@pytest.mark.parametrize(("language", "source"), [("triton", TRITON), ("gluon", GLUON)])
def test_a_kernel_is_right_and_timed(judge: Judge, language: str, source: str) -> None:
    found = judged(judge, made(language, kernel_py=source, launch_toml=PLAN), level="screen")
    assert found.correct, found.message
    assert found.lane == "device_code"
    assert found.timing is not None
    (timing,) = found.timing.shapes
    assert timing.floor_us is not None
    assert timing.latency_us < 3 * timing.floor_us + 5.0


def test_a_wrong_kernel_is_wrong(judge: Judge) -> None:
    found = judged(judge, made("triton", kernel_py=TRITON.replace("+ 1\n", "+ 2\n"), launch_toml=PLAN))
    assert found.outcome is Outcome.WRONG


def test_memory_per_block_reaches_the_kernel_that_asked_for_it(judge: Judge) -> None:
    task = load_task(TASK, platform="cuda")
    even = tuple(
        axis.model_copy(update={"multiple_of": 16, "low": 16}) if axis.name == "C" else axis for axis in task.axes
    )
    wide = ShapeSets(shown=({"R": 256, "C": 384},), search=({"R": 777, "C": 4096},), sealed=({"R": 1021, "C": 1600},))
    candidate = made("triton", kernel_py=DESCRIPTORS, launch_toml=DESCRIPTOR_PLAN)
    found = judged(judge, candidate, task.model_copy(update={"axes": even, "shapes": wide}))
    assert found.correct, found.message


def test_a_shape_that_the_code_was_not_made_for_is_refused(judge: Judge) -> None:
    found = judged(judge, made("triton", kernel_py=TRITON, launch_toml=PLAN.replace("C:i32", "C:i32:16")))
    assert found.outcome is Outcome.REFUSED
    assert "multiple of 16" in found.message


def test_two_kernels_with_memory_between_them(judge: Judge) -> None:
    first = PLAN.replace('"y"', '"part"')
    second = PLAN.replace('"row_scale"', '"twice"').replace('"x", "w",', '"part",').replace("1024 }", "256 }")
    second = second.replace("(C+1023)/1024", "(C+255)/256")
    plan = f'{first}\n{second}\n[[scratch]]\nname = "part"\nbytes = "4*R*C"\n'
    found = judged(judge, made("triton", kernel_py=TRITON + SECOND, launch_toml=plan))
    assert found.correct, found.message
