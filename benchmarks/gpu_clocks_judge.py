"""The judge's own clock on plain kernels: its sides, runner, arena and checks as they are, without a search around."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.cuda_runner import CudaRunner, cuda_runner_binary
from kernelevolve.evaluation.device import CudaDevice, Device
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.device_side import DeviceSide
from kernelevolve.evaluation.draws import Draw, joint_layout, make_draw
from kernelevolve.evaluation.freezer import Window
from kernelevolve.evaluation.launch import CudaLaunch, make_launch
from kernelevolve.evaluation.stock import Feed, Stock
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Limits
from kernelevolve.model.task import Objective, SourceFile, Task
from kernelevolve.tasks import load_task
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.base import BuildFailure
from kernelevolve.toolchains.cpp import find_compiler

TIMEOUT_S = 30.0
COLD_FACTOR, MAX_SLOTS, MIN_SLOTS = 5, 32, 4
"""As the judge has them, but never fewer than two slots for each point of a slope."""
WARM_S = 6e-4
"""What a warm series lasts, about."""
ARENA_BYTES = 6 * 2**30
WAYS = {
    "1 float4 a thread": {"UNROLL": 1, "BLOCK": 512, "STREAM": 0},
    "4 float4 a thread": {"UNROLL": 4, "BLOCK": 256, "STREAM": 0},
    "4 float4 a thread, streaming": {"UNROLL": 4, "BLOCK": 256, "STREAM": 1},
    "8 float4 a thread, streaming": {"UNROLL": 8, "BLOCK": 128, "STREAM": 1},
}
PLAIN = "4 float4 a thread"
N_EMPTY = (1, 8, 32, 256)

SOURCE = """
#if STREAM
#define LOAD(at) __ldcs(at)
#define STORE(at, v) __stcs(at, v)
#else
#define LOAD(at) (*(at))
#define STORE(at, v) (*(at) = (v))
#endif

__device__ __forceinline__ void moved(const float4* from, float4* to, long long n, float factor) {
    const long long first = (long long)blockIdx.x * (BLOCK * UNROLL) + threadIdx.x;
    float4 v[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (first + k * BLOCK < n) v[k] = LOAD(from + first + k * BLOCK);
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (first + k * BLOCK < n) {
            const float4 w = make_float4(factor * v[k].x, factor * v[k].y, factor * v[k].z, factor * v[k].w);
            STORE(to + first + k * BLOCK, w);
        }
}
extern "C" __global__ void __launch_bounds__(BLOCK) negate(float4* x, long long N) { moved(x, x, N / 4, -1.0f); }
extern "C" __global__ void __launch_bounds__(BLOCK) copy(const float4* x, float4* y, long long N) {
    moved(x, y, N / 4, 1.0f);
}
extern "C" __global__ void nothing(float4* x, long long N) {}
"""
TASK = """
schema_version = 1
name = "{name}"
summary = "a plain kernel"
entry = "{name}"

[axes]
N = {{ low = 4, high = 1073741824, multiple_of = 4 }}

[[inputs]]
name = "x"
dtype = "float32"
dims = ["N"]
in_place = {in_place}
{outputs}
[rule]
kind = "bitwise"

[platforms.cuda]
dtype = "float32"
objective = {{ clock = "device", cache = "cold" }}
shapes.shown = [{{ N = 1024 }}]
shapes.search = [{{ N = 2048 }}]
shapes.sealed = [{{ N = 4096 }}]
"""
OUTPUT = '[[outputs]]\nname = "y"\ndtype = "float32"\ndims = ["N"]\n'
INPUTS = """import torch


def make_inputs(sizes, rng, variant):
    return {"x": torch.randn(sizes["N"], generator=rng)}


def reference(x):
"""
RESULT = {"negate": "    x.neg_()\n", "copy": "    return x.clone()\n"}
PLAN = """
[[launch]]
kernel = "{kernel}"
grid = ["{grid}", "1", "1"]
block = ["BLOCK", "1", "1"]
args = [{args}]
"""
GRID = "(N/4+BLOCK*UNROLL-1)/(BLOCK*UNROLL)"
ARGS = {"negate": '"x", "N"', "copy": '"x", "y", "N"', "nothing": '"x", "N"'}


def plain_task(name: str, folder: Path) -> Task:
    folder.mkdir(parents=True, exist_ok=True)
    in_place = name == "negate"
    text = TASK.format(name=name, in_place=str(in_place).lower(), outputs="" if in_place else OUTPUT)
    (folder / "task.toml").write_text(text)
    (folder / "reference.py").write_text(INPUTS + RESULT[name])
    return load_task(str(folder), platform="cuda")


def plain_candidate(kernel: str, way: Mapping[str, int]) -> Candidate:
    constants = "".join(f'[[constant]]\nname = "{name}"\nvalue = {value}\n' for name, value in way.items())
    macros = "".join(f"#define {name} {value}\n" for name, value in way.items())
    grid = "1" if kernel == "nothing" else GRID
    plan = PLAN.format(kernel=kernel, grid=grid, args=ARGS[kernel]) + constants
    files = (SourceFile(path="kernel.cu", text=macros + SOURCE), SourceFile(path="launch.toml", text=plan))
    return Candidate(language="cuda", files=files, origin=Origin(proposer="benchmark"))


class Watched:
    """A runner whose windows are kept: a side tells of one of its clocks only."""

    def __init__(self, runner: CudaRunner) -> None:
        self._runner = runner
        self.bound = runner.bound
        self.windows: list[Window] = []

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        self._runner.bind(slots, timeout_s=timeout_s)

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        self._runner.touch(slots, timeout_s=timeout_s)

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        self.windows.append(self._runner.run(slots, timeout_s=timeout_s))
        return self.windows[-1]

    @property
    def core(self) -> int | None:
        return self._runner.core


class Bench:
    """The device, one arena for everything, the two tasks, and draws of each size."""

    def __init__(self, folder: Path, device: Device | None = None, arena_bytes: int = ARENA_BYTES) -> None:
        self.device = device or CudaDevice()
        self.arena = DeviceArena(arena_bytes, self.device)
        self.tasks = {name: plain_task(name, folder / name) for name in RESULT}
        self._modules = {
            name: TaskModule(task, folder / f"{name}-files", device=self.device.name)
            for name, task in self.tasks.items()
        }
        self._cache = folder / "cache"
        self._draws: dict[tuple[str, int], Draw] = {}
        self._compiler = find_compiler() or "g++"

    def about(self) -> dict[str, Any]:
        facts = torch.cuda.get_device_properties(0)
        return {
            "model": facts.name, "l2_bytes": self.device.l2_bytes, "memory_bytes": self.device.memory_bytes,
            "n_cores": facts.multi_processor_count, "torch": torch.__version__,
        }  # fmt: skip

    def launch(self, kernel: str, way: str) -> CudaLaunch:
        task, candidate = self.tasks.get(kernel, self.tasks["negate"]), plain_candidate(kernel, WAYS[way])
        toolchain = make_toolchain("cuda", cache=self._cache)
        if (fault := toolchain.inspect(task, candidate)) is not None:
            raise RuntimeError(f"{kernel}, {way}: {fault}")
        built = toolchain.build(task, candidate, timeout_s=60.0)
        if isinstance(built, BuildFailure):
            raise RuntimeError(f"{kernel}, {way}: {built.messages[0].message}")
        launch = make_launch("cuda", built, task)
        assert isinstance(launch, CudaLaunch)
        return launch

    def runner(self, kernel: str, way: str, objective: Objective) -> CudaRunner:
        """To be entered by the caller."""
        launch = self.launch(kernel, way)
        binary = cuda_runner_binary(self._cache, self._compiler)
        return CudaRunner(binary=binary, arena=self.arena, objective=objective).given(launch, Limits(call_s=TIMEOUT_S))

    def draw(self, kernel: str, n: int) -> Draw:
        if (kernel, n) not in self._draws:
            self._draws[kernel, n] = make_draw(
                self._modules[kernel], {"N": n}, secret="clocks", label="timed", variant="nominal", slim=True
            )
        return self._draws[kernel, n]

    def n_slots(self, kernel: str, n: int) -> int:
        wanted = -(-COLD_FACTOR * self.device.l2_bytes // joint_layout([self.draw(kernel, n)]).n_bytes)
        return max(MIN_SLOTS, min(MAX_SLOTS, -(-wanted // 2) * 2))

    def side(self, kernel: str, n: int, caller: Watched) -> DeviceSide:
        """Warmed up; what it computes is looked at in every sample."""
        draw = self.draw(kernel, n)
        layout = joint_layout([draw])
        side = DeviceSide(
            device=self.device, name=kernel, caller=caller, arena=self.arena, task=self.tasks[kernel], layout=layout,
            n_slots=self.n_slots(kernel, n), n_threads=1, trusted=False,
        )  # fmt: skip
        side.calibrate(Feed(Stock(lambda _: draw), layout=layout, repeat=True), timeout_s=TIMEOUT_S)
        side.n_calls = MAX_SLOTS
        return side

    def request(self, sizes: Sequence[tuple[str, int, float]], repeats: int) -> dict[str, Any]:
        """What another process needs to launch the plain kernel itself."""
        path, function = self.launch("negate", PLAIN).kernels[0]
        way = WAYS[PLAIN]
        per_block = way["BLOCK"] * way["UNROLL"]
        return {
            "cubin": str(path), "function": function, "repeats": repeats,
            "sizes": [
                {"name": name, "n": n, "about_us": about, "block": way["BLOCK"], "grid": -(-(n // 4) // per_block),
                 "n_slots": self.n_slots("negate", n)}
                for name, n, about in sizes
            ],
        }  # fmt: skip

    def close(self) -> None:
        self._draws.clear()
        self.arena.close()
        torch.cuda.empty_cache()


def graph_clocks(bench: Bench, n: int, *, repeats: int) -> dict[str, list[float]]:
    """Samples in us of the judge's clock and of both slopes, cold and warm."""
    cold = bench.tasks["negate"].objective
    draw, rng = bench.draw("negate", n), random.Random(1)
    with bench.runner("negate", PLAIN, cold) as runner:
        caller = Watched(runner)
        side = bench.side("negate", n, caller)

        def sampled(count: int) -> Window:
            side.sample([draw] * count, side.slots(rng), timeout_s=TIMEOUT_S)
            return caller.windows[-1]

        found = _three(sampled, bench.n_slots("negate", n), repeats, "cold")
    with bench.runner("negate", PLAIN, Objective(clock="device", cache="warm")) as runner:
        bench.side("negate", n, Watched(runner))
        first = runner.run([0] * MIN_SLOTS, timeout_s=TIMEOUT_S).device_s or 1e-6
        count = 2 * max(2, min(MAX_SLOTS // 2, round(WARM_S / (first / MIN_SLOTS) / 2)))
        return found | _three(lambda count: runner.run([0] * count, timeout_s=TIMEOUT_S), count, repeats, "warm")


def _three(sampled: Callable[[int], Window], count: int, repeats: int, state: str) -> dict[str, list[float]]:
    """Whole and half series take turns, so that a drift hits both alike."""
    found: dict[str, list[float]] = {f"{state} {name}": [] for name in ("judge", "judge slope", "outside slope")}
    for _ in range(repeats):
        half, whole = sampled(count // 2), sampled(count)
        assert half.device_s is not None
        assert whole.device_s is not None
        n_more = count - count // 2
        found[f"{state} judge"].append(whole.device_s / count * 1e6)
        found[f"{state} judge slope"].append((whole.device_s - half.device_s) / n_more * 1e6)
        found[f"{state} outside slope"].append((whole.seconds - half.seconds) / n_more * 1e6)
    return found


def empty_calls(bench: Bench, *, repeats: int) -> dict[str, list[float]]:
    """us a launch of a kernel that does nothing, by how many of them are in the graph."""
    draw = bench.draw("negate", 1024)
    found: dict[str, list[float]] = {}
    with bench.runner("nothing", PLAIN, Objective(clock="device", cache="warm")) as runner:
        runner.bind({0: draw.arguments(bench.tasks["negate"], joint_layout([draw]), 0)}, timeout_s=TIMEOUT_S)
        for count in N_EMPTY:
            windows = [runner.run([0] * count, timeout_s=TIMEOUT_S) for _ in range(repeats + 1)]
            found[str(count)] = [(window.device_s or 0.0) / count * 1e6 for window in windows[1:]]
    return found


def rate_samples(bench: Bench, moved: Sequence[int], *, repeats: int) -> dict[str, dict[str, dict[str, list[float]]]]:
    """us a call by kernel, bytes read and written, and way to write it; cold."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    rng = random.Random(2)
    for kernel, task in bench.tasks.items():
        found[kernel] = {str(n_bytes): {} for n_bytes in moved}
        for way in WAYS:
            with bench.runner(kernel, way, task.objective) as runner:
                for n_bytes in moved:
                    n = n_bytes // 8
                    side, draws = bench.side(kernel, n, Watched(runner)), [bench.draw(kernel, n)] * MAX_SLOTS
                    seconds = [side.sample(draws, side.slots(rng), timeout_s=TIMEOUT_S) for _ in range(repeats)]
                    found[kernel][str(n_bytes)][way] = [each * 1e6 for each in seconds]
    return found
