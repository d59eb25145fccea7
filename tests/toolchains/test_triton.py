"""Triton without a device: what is refused, what comes out of a build, and that a candidate's module does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task, TensorSpec
from kernelevolve.tasks import load_task
from kernelevolve.testing.toolchain_case import BUILD_TIMEOUT_S, ModuleCase, made
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path
from kernelevolve.toolchains.triton import TritonToolchain, read_ptx

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def row_scale(x, w, y, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < C
    scaled = tl.load(x + row * C + at, mask=inside) * tl.load(w + at, mask=inside) + 1
    tl.store(y + row * C + at, scaled, mask=inside)
"""
DESCRIPTORS = """\
import triton
import triton.language as tl


@triton.jit
def row_scale(x, w, y, R, C, BR: tl.constexpr, BC: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[R, C], strides=[C, 1], block_shape=[BR, BC])
    target = tl.make_tensor_descriptor(y, shape=[R, C], strides=[C, 1], block_shape=[BR, BC])
    at = tl.program_id(1) * BC + tl.arange(0, BC)
    place = [tl.program_id(0) * BR, tl.program_id(1) * BC]
    target.store(place, source.load(place) * tl.load(w + at, mask=at < C)[None, :] + 1)
"""
TYPES = "tl.static_assert(scale.dtype == tl.float32 and part.dtype.element_ty == tl.int32 and C.dtype == tl.int32)\n"
PLAN = """\
[[launch]]
kernel = "row_scale"
grid = ["R", "(C+BLOCK-1)/BLOCK", "1"]
args = ["x", "w", "y", "C:i32"]
constexprs = { BLOCK = "BLOCK" }
num_warps = 4

[[constant]]
name = "BLOCK"
value = 512
"""
TASK = Path(__file__).parents[1] / "hostile" / "row_scale"


def for_gpu() -> Task:
    return load_task(str(TASK)).model_copy(update={"platform": "cuda"})


def candidate(source: str = SOURCE, plan: str = PLAN, language: str = "triton") -> Candidate:
    return made(language, kernel_py=source, launch_toml=plan)


class TestTriton(ModuleCase):
    def make_toolchain(self, cache: Path) -> TritonToolchain:
        return TritonToolchain(cache=cache, architecture="sm_90a")

    def make_task(self) -> Task:
        return for_gpu()

    def good(self) -> Candidate:
        return candidate()

    def broken(self) -> tuple[Candidate, str, int]:
        return candidate(SOURCE.replace("inside = at < C", "inside = at < nowhere")), "kernel.py", 9

    def test_the_plan_is_closed(self, toolchain: TritonToolchain) -> None:
        built = built_of(toolchain, candidate())
        (launch,) = built.plan.launch
        assert launch.kernel == "row_scale<1>"
        assert (launch.block, launch.constexprs, launch.num_warps) == (("128", "1", "1"), {}, None)
        assert launch.args[:4] == ("x", "w", "y", "C:i32")
        assert set(launch.args[4:]) <= {"0"}
        assert built.kernels[0].function == "row_scale"
        assert any("row_scale: Used" in message.message for message in built.messages)

    def test_other_constants_are_another_kernel_and_equal_ones_are_not(self, toolchain: TritonToolchain) -> None:
        once = PLAN[: PLAN.index("[[constant]]")]
        built = built_of(toolchain, candidate(plan=once + once.replace('"BLOCK" }', '"256" }') + PLAN))
        assert [launch.kernel for launch in built.plan.launch] == ["row_scale<1>", "row_scale<2>", "row_scale<1>"]
        assert len({kernel.cubin_sha256 for kernel in built.kernels}) == 2

    def test_memory_per_block_that_the_compiler_asks_for_is_in_the_plan(self, toolchain: TritonToolchain) -> None:
        plan = PLAN.replace('"C:i32"', '"R:i32", "C:i64:16"').replace('{ BLOCK = "BLOCK" }', "{ BR = 32, BC = 64 }")
        built = built_of(toolchain, candidate(DESCRIPTORS, plan))
        (launch,), (scratch,) = built.plan.launch, built.plan.scratch
        assert launch.args[5:] == (scratch.name, "0")
        assert scratch.bytes.endswith("*(R)*((C+BLOCK-1)/BLOCK)*(1)")
        assert int(scratch.bytes.partition("*")[0]) >= 128

    def test_shared_memory_is_said_by_the_compiler(self, toolchain: TritonToolchain) -> None:
        source = SOURCE.replace("+ 1\n", "+ 1\n    scaled += tl.sum(scaled)\n")
        assert int(built_of(toolchain, candidate(source)).plan.launch[0].shared_bytes) > 0

    def test_where_a_compiler_is_installed_is_no_part_of_the_machine_code(self, toolchain: TritonToolchain) -> None:
        """Lines of Triton's own library are in the code's table of lines: by the file's name, not by its folder."""
        artifact = toolchain.build(
            for_gpu(),
            candidate(SOURCE.replace("+ 1\n", "+ 1\n    scaled += tl.sum(scaled)\n")),
            timeout_s=BUILD_TIMEOUT_S,
        )
        assert isinstance(artifact, Artifact)
        record = Path(artifact.path)
        (kernel,) = DeviceBuilt.from_json(record.read_text()).kernels
        code = cubin_path(record, kernel).read_bytes()
        assert b"standard.py" in code
        assert b"site-packages" not in code

    def test_a_fault_inside_a_called_function_is_found_where_it_is(self, toolchain: TritonToolchain) -> None:
        inner = "@triton.jit\ndef inner(a):\n    b = a + 1\n    return b.nothing_like_it\n\n\n"
        source = SOURCE.replace("+ 1\n", "+ inner(C)\n").replace("@triton.jit\n", inner + "@triton.jit\n")
        failure = toolchain.build(for_gpu(), candidate(source), timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(failure, BuildFailure)
        assert (failure.messages[0].file, failure.messages[0].line) == ("kernel.py", 8)

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ('"C:i32"]', '"C:i32", "R"]', "takes 4 arguments"),
            ('{ BLOCK = "BLOCK" }', "{}", "has no BLOCK"),
            ('{ BLOCK = "BLOCK" }', '{ BLOCK = "BLOCK", WIDTH = "3" }', "no constexpr WIDTH"),
        ],
    )
    def test_a_plan_that_does_not_fit_the_kernel(
        self, toolchain: TritonToolchain, old: str, new: str, words: str
    ) -> None:
        failure = toolchain.build(for_gpu(), candidate(plan=PLAN.replace(old, new)), timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(failure, BuildFailure)
        assert words in failure.messages[0].message
        assert failure.messages[0].file == "launch.toml"

    def test_real_scalars_and_scratch_have_their_types(self, toolchain: TritonToolchain) -> None:
        task = for_gpu()
        scale = TensorSpec(name="scale", dtype="float64")
        task = task.model_copy(update={"inputs": (*task.inputs, scale)})
        source = SOURCE.replace("C, BLOCK", "C, scale, part, BLOCK").replace("+ 1\n", "* scale\n    " + TYPES)
        plan = PLAN.replace('"C:i32"', '"C:i32", "scale", "part:i32"') + '[[scratch]]\nname = "part"\nbytes = "4*C"\n'
        built = toolchain.build(task, candidate(source, plan), timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(built, Artifact), built

    def test_the_task_with_another_dtype_is_compiled_anew(self, toolchain: TritonToolchain) -> None:
        task = for_gpu()
        half = task.model_copy(update={"dtype": "bfloat16", "inputs": tuple(
            spec.model_copy(update={"dtype": "bfloat16"}) for spec in task.inputs)})  # fmt: skip
        first = toolchain.build(task, candidate(), timeout_s=BUILD_TIMEOUT_S)
        second = toolchain.build(half, candidate(), timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(first, Artifact)
        assert isinstance(second, Artifact)
        assert first.sha256 != second.sha256


def built_of(toolchain: TritonToolchain, given: Candidate) -> DeviceBuilt:
    assert toolchain.inspect(for_gpu(), given) is None
    artifact = toolchain.build(for_gpu(), given, timeout_s=BUILD_TIMEOUT_S)
    assert isinstance(artifact, Artifact), artifact
    built = DeviceBuilt.from_json(Path(artifact.path).read_text())
    for kernel in built.kernels:
        assert cubin_path(Path(artifact.path), kernel).read_bytes().startswith(b"\x7fELF")
    return built


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (candidate(SOURCE.replace("import triton\n", "import triton\nimport torch\n")), "kernel.py:2: imports torch"),
        (candidate(plan=PLAN.replace('kernel = "row_scale"', 'kernel = "other"')), "no function 'other'"),
        (candidate(plan=PLAN.replace("num_warps = 4", 'block = ["32", "1", "1"]')), "the compiler's to say"),
        (candidate(plan=PLAN.replace('{ BLOCK = "BLOCK" }', '{ BLOCK = "C" }')), "'C'"),
        (candidate(plan=PLAN.replace('"x",', '"x:i32",')), "'x' is a tensor"),
        (candidate(plan=PLAN.replace("C:i32", "C:f32")), "whole number"),
        (candidate(plan=PLAN.replace('"row_scale"', '"row_scale<4>"')), "the kernel's name alone"),
        (made("triton", kernel_py=SOURCE), "no launch.toml"),
        (made("triton", launch_toml=PLAN), "no .py file"),
        (made("triton", kernel_py=SOURCE, launch_toml=PLAN, more_cu=""), "more.cu"),
        (candidate().model_copy(update={"flags": ("-O3",)}), "takes none"),
    ],
)
def test_what_is_no_candidate_is_refused(given: Candidate, words: str, tmp_path: Path) -> None:
    assert words in str(TritonToolchain(cache=tmp_path).inspect(for_gpu(), given))


def test_a_task_for_another_machine_is_refused(tmp_path: Path, row_scale: Task) -> None:
    assert "runs on cuda" in str(TritonToolchain(cache=tmp_path).inspect(row_scale, candidate()))


PTX = ".visible .entry k(\n.param .u64 .ptr .global k_0,\n.param .u32 k_1\n)\n.reqntid 64\n{\nret;\n}\n"


def test_ptx_is_read_and_not_believed() -> None:
    assert read_ptx(PTX.encode(), "k") == ("k", 2, 64)
    assert read_ptx(PTX.replace(".reqntid 64", "").encode(), "k") == ("k", 2, 0)
    for text in (
        PTX + PTX,
        "",
        PTX + ".entry hidden {}",
        PTX + '.incbin "/etc/passwd"',
        PTX.replace("64", "64, 64"),
        PTX.replace("64\n", "64\n.reqnctapercluster 2\n"),
    ):
        with pytest.raises(Exception, match="k:"):
            read_ptx(text.encode(), "k")
