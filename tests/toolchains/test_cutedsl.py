"""CuTe DSL without a device: what a build holds, what is refused, and that a candidate's module does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.cutedsl import CuteDslToolchain
from kernelevolve.toolchains.emit import cutedsl_emit
from tests.toolchains.dsl_cases import DslCase

SOURCE = """\
import cutlass
import cutlass.cute as cute


@cute.kernel
def row_scale(x: cute.Pointer, w: cute.Pointer, y: cute.Pointer, R: cutlass.Int32, C: cutlass.Int32,
              THREADS: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    row, part, _ = cute.arch.block_idx()
    column = part * THREADS + thread
    layout = cute.make_layout((R, C), stride=(cutlass.Int64(C), 1))
    if column < C:
        scaled = cute.make_tensor(x, layout)[row, column] * cute.make_tensor(w, cute.make_layout(C))[column] + 1
        cute.make_tensor(y, layout)[row, column] = scaled
"""
PLAN = """\
[[launch]]
kernel = "row_scale"
grid = ["R", "(C+127)/128", "1"]
args = ["x", "w", "y", "R:i32", "C:i32"]
constexprs = { THREADS = "width" }
num_warps = 4

[[constant]]
name = "width"
value = 128
"""


class TestCuteDsl(DslCase):
    language, source, plan = "cutedsl", SOURCE, PLAN

    def make_toolchain(self, cache: Path) -> CuteDslToolchain:
        return CuteDslToolchain(cache=cache, architecture="sm_90a")

    def broken(self) -> tuple[Candidate, str, int]:
        return self.candidate(SOURCE.replace("column < C", "column < nowhere")), "kernel.py", 12

    def test_parameters_are_pointers_and_numbers(self, toolchain: CuteDslToolchain) -> None:
        built, facts = self.compiled(toolchain)
        (launch,) = built.plan.launch
        assert (launch.kernel, launch.block, launch.shared_bytes) == ("row_scale<1>", ("128", "1", "1"), "0")
        assert launch.args == ("x", "w", "y", "R:i32", "C:i32")
        assert [parameter.n_bytes for parameter in facts.parameters] == [8, 8, 8, 4, 4]
        assert (facts.registers or 999) < 64
        assert facts.local_bytes == 0
        assert "nvidia-cutlass-dsl" in built.compiler
        assert any("Used" in message.message and "registers" in message.message for message in built.messages)

    def test_a_number_is_as_wide_as_asked_for(self, toolchain: CuteDslToolchain) -> None:
        given = self.candidate(
            SOURCE.replace("C: cutlass.Int32", "C: cutlass.Int64"), PLAN.replace('"C:i32"', '"C:i64"')
        )
        _, facts = self.compiled(toolchain, given)
        assert [parameter.n_bytes for parameter in facts.parameters] == [8, 8, 8, 4, 8]

    def test_shared_memory_is_said_by_the_compiler(self, toolchain: CuteDslToolchain) -> None:
        built, facts = self.compiled(toolchain, self.example("rms_norm"), load_task("rms_norm", platform="cuda"))
        assert built.plan.launch[0].block == ("256", "1", "1")
        assert built.plan.launch[0].shared_bytes == "32"
        assert facts.local_bytes == 0

    def test_other_constants_are_another_kernel(self, toolchain: CuteDslToolchain) -> None:
        once = PLAN[: PLAN.index("[[constant]]")]
        built, _ = self.compiled(toolchain, self.candidate(plan=once + once.replace('"width"', "64") + PLAN))
        assert [launch.kernel for launch in built.plan.launch] == ["row_scale<1>", "row_scale<2>", "row_scale<1>"]

    def test_the_task_with_another_dtype_is_compiled_for_it(self, toolchain: CuteDslToolchain) -> None:
        task = self.make_task()
        half = task.model_copy(update={"dtype": "bfloat16", **{side: tuple(
            spec.model_copy(update={"dtype": "bfloat16"}) for spec in getattr(task, side)
        ) for side in ("inputs", "outputs")}})  # fmt: skip
        source = SOURCE.replace("] = scaled", "] = cutlass.BFloat16(scaled)")
        first, _ = self.compiled(toolchain, self.candidate(source), half)
        second, _ = self.compiled(toolchain)
        assert first.kernels[0].cubin_sha256 != second.kernels[0].cubin_sha256

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ('"C:i32"]', '"C:i32", "R"]', "takes 5 arguments"),
            ('{ THREADS = "width" }', "{}", "takes 6 arguments"),
            ('{ THREADS = "width" }', '{ THREADS = "width", DEPTH = 3 }', "no parameter DEPTH"),
        ],
    )
    def test_a_plan_that_does_not_fit_the_kernel(
        self, toolchain: CuteDslToolchain, old: str, new: str, words: str
    ) -> None:
        first = self.failure(toolchain, self.candidate(plan=PLAN.replace(old, new))).messages[0]
        assert words in first.message
        assert first.file == "launch.toml"

    @pytest.mark.parametrize(
        ("old", "new", "line"),
        [
            ("column = part * THREADS + thread", "column = part.nothing_like_it", 10),
            ("cute.make_tensor(x, layout)[row, column]", "cute.make_tensor(x, layout)[row, column, 3]", 13),
            ("import cutlass\n", "import cutlass\nraise ValueError('early')\n", 2),
        ],
    )
    def test_a_fault_is_found_where_it_is(self, toolchain: CuteDslToolchain, old: str, new: str, line: int) -> None:
        first = self.failure(toolchain, self.candidate(SOURCE.replace(old, new))).messages[0]
        assert (first.file, first.line) == ("kernel.py", line), first
        assert "[91m" not in first.message

    def test_a_tensor_as_a_parameter_is_refused(self, toolchain: CuteDslToolchain) -> None:
        source = SOURCE.replace("x: cute.Pointer", "x: cute.Tensor")
        assert self.failure(toolchain, self.candidate(source)).messages[0].severity == "error"


HOST = """\
    %9 = llvm.mlir.constant(32 : i64) : i64
    %17 = llvm.getelementptr %11[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(array<3 x i32>, array<3 x i32>, i64)>
    llvm.store %9, %17 : i64, !llvm.ptr
"""


def test_shared_memory_is_read_off_the_launch_and_not_guessed() -> None:
    assert cutedsl_emit.shared_bytes(HOST) == 32
    for text in ("", HOST + HOST, HOST.replace("mlir.constant(32 : i64)", "load %3")):
        with pytest.raises(ValueError, match="launch|shared memory"):
            cutedsl_emit.shared_bytes(text)
