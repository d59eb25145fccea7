"""cuTile without a device: tensors are passed one by one, no host code comes along, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.launch import LaunchPlan
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.cutile import CutileToolchain
from kernelevolve.toolchains.dsl import CompileFault
from kernelevolve.toolchains.dsl_plan import PlanError
from kernelevolve.toolchains.tile_ptx import embedded, ordinary
from tests.toolchains.dsl_cases import DslCase

SOURCE = """\
import cuda.tile as ct


@ct.kernel
def row_scale(x, w, y, WIDTH: ct.Constant[int]):
    row, part = ct.bid(0), ct.bid(1)
    held = ct.load(x, (row, part), (1, WIDTH), padding_mode=ct.PaddingMode.ZERO)
    gain = ct.load(w, (part,), (WIDTH,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row, part), held * gain + 1)
"""
PLAN = """\
[[launch]]
kernel = "row_scale"
grid = ["R", "(C+width-1)/width", "1"]
args = ["x", "w", "y"]
constexprs = { WIDTH = "width" }

[[constant]]
name = "width"
value = 512
"""
TILES = """\
import cuda.tile as ct


@ct.kernel
def row_scale(x, y, WIDTH: ct.Constant[int]):
    total = ct.zeros((128, 128), dtype=ct.float32)
    for part in range(ct.cdiv(x.shape[1], WIDTH)):
        left = ct.load(x, (ct.bid(0), part), (128, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(x, (ct.bid(1), part), (128, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left.astype(ct.bfloat16), ct.transpose(right.astype(ct.bfloat16)), total)
    ct.store(y, (ct.bid(0), ct.bid(1)), total)
"""


class TestCutile(DslCase):
    language, source, plan = "cutile", SOURCE, PLAN

    def make_toolchain(self, cache: Path) -> CutileToolchain:
        return CutileToolchain(cache=cache, architecture="sm_90a")

    def broken(self) -> tuple[Candidate, str, int]:
        return self.candidate(SOURCE.replace("held * gain", "held * nowhere")), "kernel.py", 9

    def test_a_tensor_is_pointer_sizes_and_strides(self, toolchain: CutileToolchain) -> None:
        built, facts = self.compiled(toolchain)
        (launch,) = built.plan.launch
        assert launch.args == (
            "x", "R:i32", "C:i32", "(C):i32", "1:i32", "w", "C:i32", "1:i32", "y", "R:i32", "C:i32", "(C):i32", "1:i32",
        )  # fmt: skip
        assert [parameter.n_bytes for parameter in facts.parameters] == [8, 4, 4, 4, 4, 8, 4, 4, 8, 4, 4, 4, 4]
        assert launch.kernel == "row_scale<1>"
        assert int(launch.block[0]) % 32 == 0
        assert int(launch.block[0]) > 1
        assert facts.local_bytes == 0
        assert any("row_scale: Used" in message.message for message in built.messages)

    def test_a_fused_norm_compiles(self, toolchain: CutileToolchain) -> None:
        built, facts = self.compiled(toolchain, self.example("rms_norm"), load_task("rms_norm", platform="cuda"))
        assert built.plan.launch[0].args[-1] == "C:i32"
        assert facts.local_bytes == 0

    def test_what_is_claimed_of_rows_is_held_against_every_shape(self, toolchain: CutileToolchain) -> None:
        built, facts = self.compiled(toolchain, self.candidate(plan=PLAN.replace('"x",', '"x:16",')))
        plain, plainly = self.compiled(toolchain)
        assert built.plan.launch[0].args[:5] == ("x", "R:i32", "C:i32:16", "(C):i32:16", "1:i32")
        assert built.kernels[0].cubin_sha256 != plain.kernels[0].cubin_sha256
        assert facts.code_bytes != plainly.code_bytes

    def test_the_same_kernel_for_other_dims_is_another_artifact(self, toolchain: CutileToolchain) -> None:
        task = self.make_task()
        turned = tuple(spec.model_copy(update={"dims": spec.dims[::-1]}) for spec in task.inputs)
        built, _ = self.compiled(toolchain, task=task)
        other, _ = self.compiled(toolchain, task=task.model_copy(update={"inputs": turned}))
        assert built.plan.launch[0].args[:4] == ("x", "R:i32", "C:i32", "(C):i32")
        assert other.plan.launch[0].args[:4] == ("x", "C:i32", "R:i32", "(R):i32")

    def test_scratch_is_an_array_of_one_dimension(self, toolchain: CutileToolchain) -> None:
        plan = PLAN.replace('"y"]', '"kept"]') + '\n[[scratch]]\nname = "kept"\nbytes = "4*R*C"\n'
        source = SOURCE.replace("ct.store(y, (row, part), held * gain + 1)",
                                "ct.store(y, (row,), ct.sum(held * gain, axis=1))")  # fmt: skip
        built, _ = self.compiled(toolchain, self.candidate(source, plan))
        assert built.plan.launch[0].args[-3:] == ("kept", "(4*R*C)/4:i32", "1:i32")

    def test_matrix_tiles_need_no_host_code(self, toolchain: CutileToolchain) -> None:
        plan = PLAN.replace('["x", "w", "y"]', '["x", "y"]').replace("512", "64")
        built, facts = self.compiled(toolchain, self.candidate(TILES, plan))
        shared = int(built.plan.launch[0].shared_bytes) + (facts.static_shared_bytes or 0)
        assert 0 < shared <= 232448

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ('"y"]', '"y", "R"]', "takes 3 arguments"),
            ('{ WIDTH = "width" }', "{}", "takes 4 arguments"),
            ('{ WIDTH = "width" }', '{ WIDTH = "width", DEPTH = 3 }', "no parameter DEPTH"),
        ],
    )
    def test_a_plan_that_does_not_fit_the_kernel(
        self, toolchain: CutileToolchain, old: str, new: str, words: str
    ) -> None:
        first = self.failure(toolchain, self.candidate(plan=PLAN.replace(old, new))).messages[0]
        assert words in first.message
        assert first.file == "launch.toml"

    @pytest.mark.parametrize(
        ("old", "new", "line"),
        [
            ("ct.store(y, (row, part), held", "ct.store(y, (row, part, part), held", 9),
            ("gain = ct.load(w, (part,), (WIDTH,)", "gain = ct.load(w, (part,), (WIDTH, 3)", 8),
            ("import cuda.tile as ct\n", "import cuda.tile as ct\nraise ValueError('early')\n", 2),
        ],
    )
    def test_a_fault_is_found_where_it_is(self, toolchain: CutileToolchain, old: str, new: str, line: int) -> None:
        first = self.failure(toolchain, self.candidate(SOURCE.replace(old, new))).messages[0]
        assert (first.file, first.line) == ("kernel.py", line), first

    def test_warps_are_the_compilers_to_say(self, tmp_path: Path) -> None:
        given = self.candidate(plan=PLAN.replace("constexprs", "num_warps = 4\nconstexprs"))
        assert "num_warps" in str(self.make_toolchain(tmp_path).inspect(self.make_task(), given))


def test_rows_that_may_lie_apart_are_an_array_with_their_pitch(tmp_path: Path) -> None:
    task = load_task(str(Path(__file__).parents[1] / "attacks" / "tasks" / "pool_decay"), platform="cuda")
    state = next(spec for spec in task.inputs if spec.name == "state")
    plan = LaunchPlan.model_validate(
        {"launch": [{"kernel": "k", "grid": ["R", "1", "1"], "args": ["state", "x:16", "y"]}]}
    )
    prepared, _ = CutileToolchain(cache=tmp_path, architecture="sm_90a").prepared(plan, task)
    assert prepared.launch[0].args == (
        "state", "R:i32", "C:i32", "SP:i32", "1:i32", "x", "R:i32", "C:i32:16", "XP:i32:16", "1:i32",
        "y", "R:i32", "C:i32", "(C):i32", "1:i32",
    )  # fmt: skip
    flat = task.model_copy(update={"inputs": (state.model_copy(update={"dims": ("R",)}), *task.inputs[1:])})
    with pytest.raises(PlanError, match=r"state: elements that lie apart \(SP\) are no array of this language"):
        CutileToolchain(cache=tmp_path, architecture="sm_90a").prepared(plan, flat)


PTX = """\
.version 9.4
.target sm_90a
.visible .entry k(
.param .u64 .ptr .global .align 1 k_param_0
)
.reqntid 128
.language 7
{
.shared .align 128 .b8 global_smem_k[1024];
mov.u32 	%r1, %clusterid.x;
ret;
}
"""


def test_ptx_becomes_that_of_an_ordinary_kernel() -> None:
    text, shared_bytes = ordinary(PTX, "k")
    assert shared_bytes == 0
    assert b"%ctaid.x" in text
    assert b".language" not in text
    assert b".shared .align 128 .b8 global_smem_k[1024];" in text


def test_much_shared_memory_becomes_dynamic() -> None:
    text, shared_bytes = ordinary(PTX.replace("1024", "81920"), "k")
    assert shared_bytes == 81920
    assert text.index(b".extern .shared .align 128 .b8 global_smem_k[];") < text.index(b".entry")
    assert b"81920" not in text


@pytest.mark.parametrize(
    "ptx",
    [
        PTX.replace("\n)", ",\n.hidden\t.param .align 64 .b8 k_param_1[128]\n)"),
        PTX.replace("1024];", "40000];\n.shared .align 128 .b8 more[40000];"),
    ],
)
def test_what_needs_more_than_a_plain_launch_is_refused(ptx: str) -> None:
    with pytest.raises(CompileFault, match="host code|shared memory"):
        ordinary(ptx, "k")


def test_an_output_without_ptx_is_a_failure() -> None:
    kept = PTX.replace("\n", "\0").encode() + b".nv_intermediate_source_section"
    assert embedded(b"\x7fELF.." + kept, "k") == PTX
    with pytest.raises(CompileFault, match="no PTX"):
        embedded(b"\x7fELF" + PTX.encode(), "k")
