"""Device code on a real GPU: honest kernels are accepted and timed, and whoever is to blame is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kernelevolve.evaluation.judge import Judge
from kernelevolve.evaluation.python_arguments import Argument, tensor_at
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.selftest.corpus import candidate_of
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.libcuda import gpu

pytestmark = [pytest.mark.device, pytest.mark.skipif(gpu() is None, reason="needs an NVIDIA GPU")]
TASKS = Path(__file__).parents[1] / "attacks" / "tasks"
HONEST = Path(__file__).parents[1] / "attacks" / "naive" / "honest_cuda"

ROW_SUM_IN_TWO = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "part.cuh"
namespace cg = cooperative_groups;
template <int THREADS> __global__ void parts(const float* x, double* part, int R, long long C, long long tile) {
    const long long row = blockIdx.x * C, first = blockIdx.y * tile, last = least(first + tile, C);
    double total = 0;
    for (long long c = first + threadIdx.x; c < last; c += THREADS) total += x[row + c];
    __shared__ double sums[THREADS / 32];
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    total = cg::reduce(warp, total, cg::plus<double>());
    if (warp.thread_rank() == 0) sums[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x) return;
    for (int k = 1; k < THREADS / 32; ++k) total += sums[k];
    part[(long long)blockIdx.x * gridDim.y + blockIdx.y] = total;
}
extern "C" __global__ void finish(const double* part, float* y, long long R, long long n) {
    const long long row = blockIdx.x * 256LL + threadIdx.x;
    if (row >= R) return;
    double total = 0;
    for (long long k = 0; k < n; ++k) total += part[row * n + k];
    y[row] = (float)total;
}
"""
ROW_SUM_PLAN = """
[[launch]]
kernel = "parts<256>"
grid = ["R", "(C+tile-1)/tile", "1"]
block = ["256", "1", "1"]
args = ["x", "part", "R", "C", "tile"]
[[launch]]
kernel = "finish"
grid = ["(R+255)/256", "1", "1"]
block = ["256", "1", "1"]
args = ["part", "y", "R", "(C+tile-1)/tile"]
[[scratch]]
name = "part"
bytes = "8*R*((C+tile-1)/tile)"
[[constant]]
name = "tile"
value = 4096
"""
SOFTMAX = """
extern "C" __global__ void softmax(const float* x, float* y, long long R, long long C) {
    extern __shared__ float s[];
    const float* row = x + blockIdx.x * C;
    float m = __int_as_float(0xff800000);
    for (long long c = threadIdx.x; c < C; c += blockDim.x) m = fmaxf(m, row[c]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + half]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();
    float total = 0;
    for (long long c = threadIdx.x; c < C; c += blockDim.x) total += expf(row[c] - m);
    s[threadIdx.x] = total;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    for (long long c = threadIdx.x; c < C; c += blockDim.x) y[blockIdx.x * C + c] = expf(row[c] - m) / s[0];
}
"""
SOFTMAX_PLAN = """
[[launch]]
kernel = "softmax"
grid = ["R", "1", "1"]
block = ["1024", "1", "1"]
shared_bytes = "4*1024*16"
args = ["x", "y", "R", "C"]
"""


@pytest.fixture(scope="module")
def judge(cache: Path) -> Iterator[Judge]:
    judge = Judge(cache=cache)
    yield judge
    judge.close()


def written(**files: str) -> Candidate:
    names = {"source": "kernel.cu", "plan": "launch.toml", "header": "part.cuh"}
    sources = tuple(SourceFile(path=names[key], text=text) for key, text in files.items())
    return Candidate(language="cuda", files=sources, origin=Origin(proposer="tests"))


def judged(judge: Judge, task: str, candidate: Candidate, level: str = "screen", **changes: object) -> Verdict:
    loaded = load_task(str(TASKS / task), platform="cuda")
    base = {"task": loaded, "candidate": candidate, "secret": "s/1", "n_threads": 4, "baselines": ("eager",)}
    return judge.verdict(Job.model_validate({**base, "level": level, "limits": Limits(call_s=2.0), **changes}))


@pytest.mark.parametrize("task", ["row_scale", "row_sum"])
def test_the_honest_kernels_are_accepted_and_timed(judge: Judge, task: str) -> None:
    found = judged(judge, task, candidate_of(HONEST / task / "kernel.cu", "cuda"))
    assert found.correct, found.message
    assert found.lane == "device_code"
    assert found.timing is not None
    (timing,) = found.timing.shapes
    print(task, timing.latency_us, timing.floor_us, timing.against_best.baseline_us, found.timing.speedup, found.stages)
    assert timing.floor_us is not None
    assert 0.5 * timing.floor_us < timing.latency_us < 20 * timing.floor_us


def test_templates_headers_scratch_constants_and_two_launches(judge: Judge) -> None:
    header = "__device__ inline long long least(long long a, long long b) { return a < b ? a : b; }\n"
    found = judged(judge, "row_sum", written(source=ROW_SUM_IN_TWO, plan=ROW_SUM_PLAN, header=header), "check")
    assert found.correct, found.message


def test_more_shared_memory_than_the_usual_limit(judge: Judge) -> None:
    found = judged(judge, "softmax", written(source=SOFTMAX, plan=SOFTMAX_PLAN))
    assert found.correct, found.message


def test_a_kernel_that_hangs_costs_its_time_limit_and_no_more(judge: Judge) -> None:
    """PE47, PE48"""
    plan = '[[launch]]\nkernel = "k"\ngrid = ["1", "1", "1"]\nblock = ["1", "1", "1"]\nargs = ["y"]\n'
    hangs = written(source='extern "C" __global__ void k(volatile float* y) { while (y[0] != 1e30f); }', plan=plan)
    assert judged(judge, "relu", hangs, "check").outcome is Outcome.TIMEOUT
    traps = written(source='extern "C" __global__ void k(float* y) { __trap(); }', plan=plan)
    assert judged(judge, "relu", traps, "check").outcome is Outcome.CRASHED
    after = judged(judge, "row_scale", candidate_of(HONEST / "row_scale" / "kernel.cu", "cuda"), "check")
    assert after.correct, after.message


def test_torch_compile_changes_one_of_many_tensors_of_an_arena_in_place() -> None:
    """Gated DeltaNet's baseline was left out: with more than five inputs in one storage, torch.compile takes them for
    views of each other, and of other dtypes."""
    memory = torch.zeros(8192, dtype=torch.uint8, device="cuda")
    dtypes = ("float32", "int32", "bfloat16", "bfloat16", "bfloat16", "float32", "float32")
    arguments = [Argument(name=f"t{i}", dtype=dtype, dims=("N",), scalar=False) for i, dtype in enumerate(dtypes)]
    tensors = [tensor_at(memory, 1024 * i, argument, {"N": 64}) for i, argument in enumerate(arguments)]
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == len(tensors)
    tensors[1].copy_(torch.randperm(64, device="cuda"))

    def update(state: torch.Tensor, at: torch.Tensor, *others: torch.Tensor) -> None:
        state[at.long()] += 1 + sum(other.float() for other in others)

    torch.compile(update, dynamic=True)(*tensors)
    assert memory[:256].view(torch.float32).eq(1).all(), "what was written is not in the arena"
