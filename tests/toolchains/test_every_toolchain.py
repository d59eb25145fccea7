"""The suite for all toolchains, on those that need no environment of their own."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task
from kernelevolve.testing.toolchain_case import ToolchainCase, made
from kernelevolve.toolchains.cpp import CppToolchain
from kernelevolve.toolchains.cuda import CudaToolchain
from kernelevolve.toolchains.python import PythonToolchain

TASK = Path(__file__).parents[1] / "hostile" / "row_scale"
CPP = """\
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t i = 0; i < R * C; ++i) y[i] = x[i] * w[i % C] + 1;
    return 0;
}
"""
CUDA = """\
extern "C" __global__ void row_scale(const float* x, const float* w, float* y, long long C) {
    const long long row = blockIdx.x;
    for (long long c = threadIdx.x; c < C; c += blockDim.x)
        y[row * C + c] = x[row * C + c] * w[c] + 1;
}
"""
PLAN = (
    '[[launch]]\nkernel = "row_scale"\ngrid = ["R", "1", "1"]\nblock = ["256", "1", "1"]\nargs = ["x", "w", "y", "C"]\n'
)


class TestCpp(ToolchainCase):
    def make_toolchain(self, cache: Path) -> CppToolchain:
        return CppToolchain(cache=cache)

    def make_task(self) -> Task:
        return load_task(str(TASK))

    def good(self) -> Candidate:
        return made("cpp", kernel_cpp=CPP)

    def broken(self) -> tuple[Candidate, str, int]:
        return made("cpp", kernel_cpp=CPP.replace("y[i]", "nowhere[i]")), "kernel.cpp", 2


class TestPython(ToolchainCase):
    def make_toolchain(self, cache: Path) -> PythonToolchain:
        return PythonToolchain(cache=cache)

    def make_task(self) -> Task:
        return load_task(str(TASK))

    def good(self) -> Candidate:
        return made("python", kernel_py="def row_scale(x, w, y, R, C):\n    y.copy_(x * w + 1)\n")

    def broken(self) -> tuple[Candidate, str, int]:
        return made("python", kernel_py="def row_scale(x, w, y, R, C):\n    y.copy_(x * w + 1)]\n"), "kernel.py", 2


class TestCuda(ToolchainCase):
    def make_toolchain(self, cache: Path) -> CudaToolchain:
        return CudaToolchain(cache=cache, architecture="sm_90a")

    def make_task(self) -> Task:
        return load_task(str(TASK)).model_copy(update={"platform": "cuda"})

    def good(self) -> Candidate:
        return made("cuda", kernel_cu=CUDA, launch_toml=PLAN)

    def broken(self) -> tuple[Candidate, str, int]:
        return made("cuda", kernel_cu=CUDA.replace("w[c]", "nowhere[c]"), launch_toml=PLAN), "kernel.cu", 4
