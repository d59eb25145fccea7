"""Inductor's wrapper into C++, on small hand-made wrappers: no torch, no compiler."""

from __future__ import annotations

import textwrap

import pytest

from kernelevolve.errors import ProposerError
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.proposers.builtin.arm import Arm
from kernelevolve.proposers.builtin.inductor import Extraction, inductor_arm
from kernelevolve.testing.proposer_case import SAMPLE_FACTS

KERNEL = """
cpp_fused_0 = async_compile.cpp_pybinding(['const float*', 'float*', 'const int64_t'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0, const int64_t ks0)
{
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for
        for (int64_t x0 = 0; x0 < ks0; x0++) out_ptr0[x0] = in_ptr0[x0].exp();
    }
}
''')
"""
DOUBLE = """
arg0_1, arg1_1 = args
args.clear()
s77 = arg0_1
assert_size_stride(arg1_1, (s77, ), (1, ), 'input')
buf0 = empty_strided_cpu((s77, ), (1, ), torch.float32)
cpp_fused_0(arg1_1, buf0, s77)
del arg1_1
buf1 = buf0; del buf0  # reuse
cpp_fused_0(buf1, buf1, s77)
return (buf1, )
"""
X = TensorSpec(name="x", dtype="float32", dims=("N",))


def make_task(*inputs: TensorSpec, out: tuple[str, ...] = ("N",), axes: tuple[Axis, ...] = ()) -> Task:
    every = (Axis(name="N"), Axis(name="M"), *axes)
    return Task(
        name="t", entry="t", axes=every, inputs=inputs or (X,),
        outputs=(TensorSpec(name="out", dtype="float32", dims=out),), rule=Rule(kind="scaled", rtol=1e-4),
        shapes=ShapeSets(shown=({axis.name: max(axis.low, 8) for axis in every},)),
        files=(SourceFile(path="reference.py", text=""),),
    )  # fmt: skip


def translate(body: str, sources: tuple[str, ...], task: Task | None = None, axes: tuple[str, ...] = ()) -> Arm:
    code = KERNEL + "class Runner:\n    def call(self, args):\n" + textwrap.indent(body.strip(), " " * 8) + "\n"
    extraction = Extraction(codes={"vec": code}, sources={"vec": sources}, axes=axes, isa="avx512")
    return inductor_arm(task or make_task(), SAMPLE_FACTS, extraction)


def entry(arm: Arm) -> list[str]:
    """The lines of the entry point."""
    _, _, body = arm.candidate(arm.defaults()).source.partition('extern "C" int t(')
    return [line.strip() for line in body.splitlines()]


def test_allocations_calls_and_outputs_in_order() -> None:
    lines = entry(translate(DOUBLE, ("x:0", "x")))
    assert [line for line in lines if "arg1_1" in line or "buf0" in line] == [
        "auto* v_arg1_1 = (void*)x;",
        "auto* v_buf0 = (void*)out;",
        "cpp_fused_0::kernel((const float*)((float*)v_arg1_1), (float*)((float*)v_buf0), N);",
        "cpp_fused_0::kernel((const float*)((float*)v_buf0), (float*)((float*)v_buf0), N);",
    ]
    assert lines[-2:] == ["return 0;", "}"]
    assert "ke_work = std::max<int64_t>({1, N, N});" in lines


def test_settings_reach_the_pragmas() -> None:
    arm = translate(DOUBLE, ("x:0", "x"))
    default = arm.candidate(arm.defaults())
    assert "#pragma omp parallel num_threads(KE_THREADS) if(ke_work >= KE_GRAIN)" in default.source
    assert "#pragma omp for KE_SCHEDULE" in default.source
    assert ".exp()" in default.source
    assert default.flags == ("{torch_include}",)
    chosen = {**arm.defaults(), "SCHEDULE": "dynamic16", "GRAIN": "16384", "EXP": "short", "threads": "1", "opt": "O2"}
    tuned = arm.candidate(chosen)
    assert tuned.source.startswith(
        "#define KE_GRAIN 16384\n#define KE_SCHEDULE schedule(dynamic, 16)\n#define KE_THREADS 1\n"
    )
    assert ".exp_u20()" in tuned.source
    assert ".exp()" not in tuned.source
    assert tuned.flags == ("{torch_include}", "-O2")


def test_a_returned_view_is_copied_and_temporaries_get_scratch() -> None:
    task = make_task(TensorSpec(name="x", dtype="float32", dims=("N", "M")), out=("M", "N"))
    body = """
        arg0_1, arg1_1, arg2_1 = args
        s0 = arg0_1
        s1 = arg1_1
        buf0 = empty_strided_cpu((s0, s1), (s1, 1), torch.float32)
        cpp_fused_0(arg2_1, buf0, s0*s1)
        return (reinterpret_tensor(buf0, (s1, s0), (1, s1), 0), )
    """
    lines = entry(translate(textwrap.dedent(body), ("x:0", "x:1", "x"), task))
    assert "char* ke_free = ke_scratch.at_least(ke::rounded(((N * M)) * 4));" in lines
    assert lines[-3] == (
        "ke::copy_strided<float>(((const float*)v_buf0), (float*)out, 2, std::array<int64_t, 2>{M, N}.data(), "
        "std::array<int64_t, 2>{1, M}.data(), std::array<int64_t, 2>{N, 1}.data());"
    )


def test_matrix_products_become_our_own() -> None:
    weight = TensorSpec(name="w", dtype="float32", dims=("M", "N"))
    bias = TensorSpec(name="b", dtype="float32", dims=("M",))
    task = make_task(TensorSpec(name="x", dtype="float32", dims=("7", "N")), weight, bias, out=("7", "M"))
    body = """
        arg0_1, arg1_1, arg2_1, arg3_1, arg4_1 = args
        s0 = arg0_1
        s1 = arg1_1
        buf0 = empty_strided_cpu((7, s1), (s1, 1), torch.float32)
        turned = reinterpret_tensor(arg3_1, (s0, s1), (1, s0), 0)
        extern_kernels.addmm(arg4_1, arg2_1, turned, alpha=1, beta=2, out=buf0)
        return (buf0, )
    """
    arm = translate(textwrap.dedent(body), ("x:1", "w:0", "x", "w", "b"), task)
    assert (
        "ke::matmul<float>(ke::Matrix<const float>{((float*)v_arg2_1), {1, 7, N}, {0, N, 1}}, "
        "ke::Matrix<const float>{((float*)v_arg3_1), {1, N, M}, {0, 1, N}}, "
        "ke::Matrix<float>{((float*)v_buf0), {1, 7, M}, {0, M, 1}}, 1.0, "
        "ke::Matrix<const float>{((float*)v_arg4_1), {1, 7, M}, {0, 0, 1}}, 2.0);"
    ) in entry(arm)
    assert {"MR", "KC", "NC"} <= {knob.name for knob in arm.knobs}


def test_axes_and_scalars_are_arguments_too() -> None:
    task = make_task(X, TensorSpec(name="k", dtype="int64"), TensorSpec(name="f", dtype="float32"))
    body = DOUBLE.replace("arg0_1, arg1_1 =", "arg0_1, arg1_1, arg2_1, arg3_1 =")
    body = body.replace("s77)\ndel", "s77*arg2_1)\ndel")
    lines = entry(translate(body, ("N", "x", "k", "f"), task, axes=("N",)))
    assert "auto* v_arg3_1 = (void*)&f;" in lines
    assert any(line.endswith("(N * k));") for line in lines)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("(s77, ), (1, ), 'input'", "(8, ), (1, ), 'input'"), "N is fixed to 8 in it"),
        (("(s77, ), (1, ), 'input'", "(s77, ), (2, ), 'input'"), "expects arg1_1 in another memory layout"),
        (("del arg1_1", "torch.ops.aten.sort.stable(arg1_1)"), "it calls torch.ops.aten.sort.stable"),
        (("cpp_fused_0(arg1_1, buf0", "cpp_fused_0(buf0, arg1_1"), "it writes into an input that is not in_place (x)"),
        (("cpp_fused_0(arg1_1, buf0", "cpp_fused_0(constant0, buf0"), "constant0 is a tensor built into the graph"),
        (("(buf1, )", "(buf1, buf1)"), "it returns 2 tensors, the task has 1 outputs"),
        (("(1, ), torch.float32", "(1, ), torch.float64"), "output out is float64, declared float32"),
        (("(1, ), torch.float32", "(3, ), torch.float32"), "buffer buf0 has holes"),
        (("del arg1_1", "if s77: pass"), "if s77:"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_over_is_said(change: tuple[str, str], reason: str) -> None:
    assert change[0] in DOUBLE
    with pytest.raises(ProposerError) as caught:
        translate(DOUBLE.replace(*change), ("x:0", "x"))
    assert str(caught.value).startswith("Inductor's code cannot be taken over: ")
    assert reason in str(caught.value)


def test_a_scalar_that_was_built_in_is_noticed() -> None:
    task = make_task(X, TensorSpec(name="limit", dtype="int64"))
    with pytest.raises(ProposerError, match="the value of limit is built in"):
        translate(DOUBLE, ("x:0", "x"), task)


def test_two_axes_that_must_agree_are_compared_at_run_time() -> None:
    task = make_task(X, TensorSpec(name="y", dtype="float32", dims=("M",)))
    body = DOUBLE.replace("arg0_1, arg1_1 =", "arg0_1, arg1_1, arg2_1 =").replace(
        "buf0 = e", "assert_size_stride(arg2_1, (s77, ), (1, ), 'input')\nbuf0 = e"
    )
    assert "if (N != M) return 1;" in entry(translate(body, ("x:0", "x", "y"), task))


def test_an_axis_with_one_size_may_be_built_in() -> None:
    fixed = Axis(name="K", low=8, high=8)
    task = make_task(TensorSpec(name="x", dtype="float32", dims=("K",)), out=("K",), axes=(fixed,))
    body = DOUBLE.replace("arg0_1, arg1_1 =", "arg1_1, =")
    body = body.replace("s77 = arg0_1", "s77 = 8").replace("(s77, )", "(8, )")
    assert "if" not in " ".join(entry(translate(body, ("x",), task)))
