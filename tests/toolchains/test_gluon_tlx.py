"""Triton's two relatives, without a device: the same suite, and a kernel that uses what they are for."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task
from kernelevolve.testing.toolchain_case import BUILD_TIMEOUT_S, ToolchainCase, made
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path
from kernelevolve.toolchains.gluon import GluonToolchain
from kernelevolve.toolchains.tlx import TlxToolchain

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
TLX = """\
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def row_scale(x, w, y, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < C
    held = tlx.local_alloc((BLOCK,), tl.float32, 1)
    here = tlx.local_view(held, 0)
    token = tlx.async_load(x + row * C + at, here, mask=inside)
    tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0)
    scaled = tlx.local_load(here) * tl.load(w + at, mask=inside) + 1
    tl.store(y + row * C + at, scaled, mask=inside)
"""
SPECIALISED = """\
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def row_scale(x, w, y, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    start = tl.program_id(1) * BLOCK
    held = tlx.local_alloc((BLOCK,), tl.float32, 1)
    full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = start + tl.arange(0, BLOCK)
            tlx.local_store(tlx.local_view(held, 0), tl.load(x + row * C + at, mask=at < C))
            tlx.barrier_arrive(full[0], 1)
        with tlx.async_task(num_warps=4):
            at = start + tl.arange(0, BLOCK)
            tlx.barrier_wait(full[0], 0)
            scaled = tlx.local_load(tlx.local_view(held, 0)) * tl.load(w + at, mask=at < C) + 1
            tl.store(y + row * C + at, scaled, mask=at < C)
"""
PLAN = """\
[[launch]]
kernel = "row_scale"
grid = ["R", "(C+511)/512", "1"]
args = ["x", "w", "y", "C:i32"]
constexprs = { BLOCK = 512 }
"""


class PlainCase(ToolchainCase):
    language = ""
    source = ""

    def make_task(self) -> Task:
        return load_task(str(Path(__file__).parents[1] / "hostile" / "row_scale")).model_copy(
            update={"platform": "cuda"}
        )

    def good(self) -> Candidate:
        return made(self.language, kernel_py=self.source, launch_toml=PLAN)

    def broken(self) -> tuple[Candidate, str, int]:
        source = self.source.replace("inside = at < C", "inside = at < nowhere")
        line = source[: source.index("nowhere")].count("\n") + 1
        return made(self.language, kernel_py=source, launch_toml=PLAN), "kernel.py", line

    def cubin(self, toolchain: GluonToolchain | TlxToolchain) -> tuple[DeviceBuilt, bytes]:
        built = toolchain.build(self.make_task(), self.good(), timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(built, Artifact), built
        record = DeviceBuilt.from_json(Path(built.path).read_text())
        return record, cubin_path(Path(built.path), record.kernels[0]).read_bytes()


class TestGluon(PlainCase):
    language, source = "gluon", GLUON

    def make_toolchain(self, cache: Path) -> GluonToolchain:
        return GluonToolchain(cache=cache, architecture="sm_90a")

    def test_the_plan_is_closed(self, toolchain: GluonToolchain) -> None:
        record, cubin = self.cubin(toolchain)
        assert record.plan.launch[0].block == ("128", "1", "1")
        assert cubin.startswith(b"\x7fELF")


class TestTlx(PlainCase):
    language, source = "tlx", TLX

    def make_toolchain(self, cache: Path) -> TlxToolchain:
        return TlxToolchain(cache=cache, architecture="sm_90a")

    def test_memory_it_asks_for_itself_is_in_the_plan(self, toolchain: TlxToolchain) -> None:
        record, cubin = self.cubin(toolchain)
        assert int(record.plan.launch[0].shared_bytes) >= 4 * 512
        assert cubin.startswith(b"\x7fELF")
        assert "triton-utlx" in record.compiler

    def test_warps_of_every_task_are_in_the_block(self, toolchain: TlxToolchain) -> None:
        given = made("tlx", kernel_py=SPECIALISED, launch_toml=PLAN)
        built = toolchain.build(self.make_task(), given, timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(built, Artifact), built
        assert DeviceBuilt.from_json(Path(built.path).read_text()).plan.launch[0].block == ("256", "1", "1")
