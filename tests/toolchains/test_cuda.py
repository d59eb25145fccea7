"""The CUDA toolchain without a device: what may not pass inspection, errors as data, one compile per content."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cuda import CudaToolchain, parse_messages
from kernelevolve.toolchains.cuda_source import source_fault, without_comments
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path
from kernelevolve.toolchains.nvrtc import find_nvrtc

NVRTC = find_nvrtc()
needs_nvrtc = pytest.mark.skipif(NVRTC is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
PLAN = '[[launch]]\nkernel = "k"\ngrid = ["R", "1", "1"]\nblock = ["32", "1", "1"]\nargs = ["y", "R"]\n'
SOURCE = 'extern "C" __global__ void k(float* y, long long R) { if (threadIdx.x < R) y[threadIdx.x] = 1; }\n'


def candidate(
    source: str = SOURCE, plan: str = PLAN, flags: tuple[str, ...] = (), more: dict[str, str] | None = None
) -> Candidate:
    texts = {"kernel.cu": source, "launch.toml": plan, **(more or {})}
    files = tuple(SourceFile(path=path, text=text) for path, text in texts.items())
    return Candidate(language="cuda", files=files, flags=flags, origin=Origin(proposer="tests"))


@pytest.fixture
def task(row_scale: Task) -> Task:
    return row_scale.model_copy(update={"platform": "cuda"})


@pytest.fixture
def toolchain(tmp_path: Path) -> CudaToolchain:
    return CudaToolchain(cache=tmp_path, architecture="sm_90a")


@pytest.mark.parametrize(
    "text",
    [
        '#include "/etc/passwd"', "#include </etc/passwd>", '#include "../x.cuh"', '#include "reference.py"',
        "#include <cuda_fp16.h/../../x>", "# \\\n include \"/etc/passwd\"", '#inc\\\nlude "/etc/passwd"',
        '/* a */ # /* b */ include "/etc/passwd"', '%:include "/etc/passwd"', '??=include "/etc/passwd"',
        "#define F <x>\n#include F", "#include_next <x.h>", '#embed "/etc/passwd"', '#import "x"',
        '#if __has_include("/etc/passwd")\n#endif', 'R"(/*)"\n#include "/etc/passwd"\n/*)"*/',
        '"//"\n#include "/etc/passwd"', "int a = 1'000; char q = '\"';\n#include \"/etc/passwd\"",
        'asm(".incbin \\"/etc/passwd\\";");', 'asm(".in" "clude \\"/etc/passwd\\";");', 'asm("} .entry hidden() {");',
    ],
)  # fmt: skip
def test_sources_that_reach_outside_are_refused(text: str) -> None:
    assert source_fault("kernel.cu", f"{text}\n{SOURCE}", set()) is not None


@pytest.mark.parametrize(
    "text",
    [
        "#include <cuda_fp16.h>", "#include <cooperative_groups/reduce.h>", "#include <cuda/barrier>",
        '#include "own.cuh"', '// #include "/etc/passwd"', '/* #include\n"/etc/passwd" */',
        "#pragma once\n#ifdef A\n#endif",
        'const char* text = "#include <vector>";', "#define include 3", "#define assert(x) if (!(x)) __trap()",
        'asm("mov.u64 %0, %globaltimer;" : "=l"(t));', "int n = a.entry + b.include;",
    ],
)  # fmt: skip
def test_honest_sources_pass(text: str) -> None:
    assert source_fault("kernel.cu", f"{text}\n{SOURCE}", {"own.cuh"}) is None


def test_the_line_is_the_one_in_the_file() -> None:
    fault = source_fault("k.cu", '#define A \\\n 1\n\n#include "x"\n', set())
    assert fault is not None
    assert fault.startswith("k.cu:4:")


def test_comments_become_spaces_and_strings_stay() -> None:
    code, strings = without_comments('a/**/b // c\n"//d" \'"\' R"x(/*)x" 1\'0')
    assert code == 'a b \n"//d" \'"\' R"x(/*)x" 1\'0'
    assert strings == ["//d", "/*"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (candidate(more={"second.cu": SOURCE}), "exactly one .cu"),
        (candidate(more={"host.cpp": ""}), "host.cpp"),
        (candidate(flags=("-I/etc",)), "not allowed"),
        (candidate(flags=("--gpu-architecture=sm_50",)), "not allowed"),
        (candidate(plan="nonsense"), "launch.toml"),
        (candidate(plan=PLAN.replace('"k"', '"other"')), "no kernel 'other'"),
        (candidate(plan=PLAN.replace('"y", "R"', '"z", "R"')), "'z'"),
    ],
)
def test_what_is_no_candidate_is_refused(toolchain: CudaToolchain, task: Task, given: Candidate, words: str) -> None:
    assert words in str(toolchain.inspect(task, given))


def test_a_plan_is_needed_and_the_task_must_be_for_a_gpu(
    toolchain: CudaToolchain, task: Task, row_scale: Task
) -> None:  # fmt: skip
    without = Candidate(
        language="cuda", files=(SourceFile(path="kernel.cu", text=SOURCE),), origin=Origin(proposer="tests")
    )
    assert "no launch.toml" in str(toolchain.inspect(task, without))
    assert "runs on cuda" in str(toolchain.inspect(row_scale, candidate()))
    assert toolchain.inspect(task, candidate(flags=("--use_fast_math", "--maxrregcount=64", "-DN=4"))) is None


@needs_nvrtc
def test_the_same_content_compiles_once_and_damage_is_noticed(toolchain: CudaToolchain, task: Task) -> None:
    first = toolchain.build(task, candidate(), timeout_s=60)
    again = toolchain.build(task, candidate(), timeout_s=60)
    assert isinstance(first, Artifact)
    assert isinstance(again, Artifact)
    assert (first.cached, again.cached, first.sha256) == (False, True, again.sha256)
    built = DeviceBuilt.from_json(Path(first.path).read_text())
    assert [kernel.function for kernel in built.kernels] == ["k"]
    assert any("registers" in message.message for message in first.messages)
    cubin_path(Path(first.path), built.kernels[0]).write_bytes(b"something else")
    repaired = toolchain.build(task, candidate(), timeout_s=60)
    assert isinstance(repaired, Artifact)
    assert not repaired.cached


@needs_nvrtc
def test_headers_of_the_candidate_and_templates(toolchain: CudaToolchain, task: Task) -> None:
    source = '#include "own.cuh"\ntemplate <int N> __global__ void k(float* y, int R) { y[0] = own(N); }\n'
    own = "__device__ inline float own(int n) { return n; }\n"
    built = toolchain.build(
        task, candidate(source, PLAN.replace('"k"', '"k<4>"'), more={"own.cuh": own}), timeout_s=60
    )  # fmt: skip
    assert isinstance(built, Artifact)
    assert DeviceBuilt.from_json(Path(built.path).read_text()).kernels[0].function == "_Z1kILi4EEvPfi"


@needs_nvrtc
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("extern \"C\" __global__ void k(float* y) {\n    y[0] = nothing;\n}", "nothing"),
        ("__device__ int clock_at = clock();\n" + SOURCE, "dynamic initialization"),
        ("void k();\n", "host function"),
        ('extern "C" __global__ void k() { asm("nonsense;"); }', "nonsense"),
    ],
)  # fmt: skip
def test_a_failure_has_its_words_and_is_remembered(
    toolchain: CudaToolchain, task: Task, source: str, words: str
) -> None:
    for _ in range(2):
        failure = toolchain.build(task, candidate(source), timeout_s=60)
        assert isinstance(failure, BuildFailure)
        assert words in failure.messages[0].message
    assert failure.seconds > 0


@needs_nvrtc
def test_the_compiler_sees_no_file_even_where_inspection_is_passed_by(toolchain: CudaToolchain, task: Task) -> None:
    failure = toolchain.build(task, candidate('#include "/etc/passwd"\n' + SOURCE), timeout_s=60)
    assert isinstance(failure, BuildFailure)
    assert "cannot open source file" in failure.messages[0].message


@needs_nvrtc
def test_a_compile_bomb_is_the_candidates_failure(toolchain: CudaToolchain, task: Task) -> None:
    halves = "if constexpr (D > 0) return f<D - 1, 2 * P>(x) + f<D - 1, 2 * P + 1>(x); else return x * P;"
    bomb = f"template <int D, long P> __device__ long f(long x) {{ {halves} }}\n"
    source = bomb + 'extern "C" __global__ void k(float* y, long long R) { y[0] = f<40, 1>(R); }\n'
    failure = toolchain.build(task, candidate(source), timeout_s=2)
    assert isinstance(failure, BuildFailure)
    assert failure.seconds < 20


def test_messages_are_read_off_the_log() -> None:
    log = (
        'kernel.cu(2): error: identifier "x" is undefined\n      x;\n      ^\n\n'
        'part.cuh(7): warning #177-D: variable "u" was declared but never referenced\n'
        "ptxas application ptx input, line 35; fatal   : Parsing error near '.incbin': syntax error\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
        "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Used 20 registers, used 1 barriers, 2048 bytes smem\n"
    )
    found = parse_messages(log)
    assert [(m.file, m.line, m.severity) for m in found[:3]] == [
        ("kernel.cu", 2, "error"), ("(ptxas)", 0, "error"), ("part.cuh", 7, "warning"),
    ]  # fmt: skip
    assert found[3].message == "k: 0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads"
    assert found[4].message == "k: Used 20 registers, used 1 barriers, 2048 bytes smem"
