"""A Python module whose tensors lie on a device: the process, its sandbox and its calls, on memory of the host's where
nothing but a GPU can tell the difference."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import torch

from kernelevolve.evaluation.arena import Layout
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.device import CudaDevice, Device, HostDevice
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.launch import PythonLaunch
from kernelevolve.evaluation.python_device import lacks_work
from kernelevolve.evaluation.runner import Runner, runner_binary
from kernelevolve.evaluation.template import Templates
from kernelevolve.model.job import Limits
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Outcome
from kernelevolve.toolchains.cpp import find_compiler
from kernelevolve.toolchains.libcuda import gpu

N = 12
LAYOUT = Layout.of({"x": 4 * N * N, "w": 4 * N, "y": 4 * N * N})
GOOD = "import torch\n\ndef row_scale(x, w, y, R, C):\n    torch.mul(x, w, out=y)\n    y += 1\n"


class Bench:
    """Slots of row_scale on an arena, and the process of a module that is called on them."""

    def __init__(self, runner: Runner, arena: DeviceArena) -> None:
        self.runner, self.arena = runner, arena

    def bind(self, *slots: int) -> None:
        self.runner.bind({slot: arguments(slot) for slot in slots}, timeout_s=20)

    def fill(self, slot: int, number: float) -> None:
        """x = number, w = 2; y is wiped."""
        self.tensor(slot, "x").fill_(number)
        self.tensor(slot, "w").fill_(2)
        self.tensor(slot, "y").fill_(-1)
        if self.arena.bytes.is_cuda:
            torch.cuda.synchronize()

    def tensor(self, slot: int, name: str) -> torch.Tensor:
        return self.arena.view(slot, LAYOUT, name, LAYOUT.regions[name].n_bytes).view(torch.float32)

    def run(self, slot: int, number: float) -> torch.Tensor:
        self.fill(slot, number)
        self.runner.run([slot], timeout_s=60)
        return self.tensor(slot, "y").cpu()

    def outside(self, slot: int, number: float) -> torch.Tensor:
        """What the judge's copy holds when the clock stops."""
        seen = torch.empty(0)

        def look() -> None:
            nonlocal seen
            seen = self.tensor(slot, "y").add(0).cpu()  # a kernel takes turns with the module's, a mere copy does not

        self.fill(slot, number)
        window = self.runner.outside([slot], timeout_s=20, look=look)
        assert window.seconds > 0
        return seen


def arguments(slot: int) -> Arguments:
    offsets = tuple(LAYOUT.start(slot, name) for name in LAYOUT.regions)
    start = slot * LAYOUT.n_bytes
    return Arguments(start=start, n_bytes=LAYOUT.n_bytes, offsets=offsets, integers=(N, N), reals=())


Start = Callable[..., AbstractContextManager[Bench]]


@pytest.fixture(scope="module")
def templates(cache: Path) -> Iterator[Templates]:
    templates = Templates(cache=cache, compiler=find_compiler() or "g++")
    yield templates
    templates.close()


@pytest.fixture(params=["forked", "started anew"])
def start(cache: Path, tmp_path: Path, row_scale: Task, templates: Templates, request: pytest.FixtureRequest) -> Start:
    forks = templates if request.param == "forked" else None

    @contextmanager
    def started(*sources: str, device: Device | None = None, call_s: float = 20.0) -> Iterator[Bench]:
        files = [{"path": f"file{index}.py", "text": text} for index, text in enumerate(sources)]
        source = tmp_path / "candidate.json"
        source.write_text(json.dumps({"files": files}))
        launch = PythonLaunch(source=source, task=row_scale, device=True)
        binary = runner_binary(cache, find_compiler() or "g++")
        arena = DeviceArena(4 * LAYOUT.n_bytes, device or HostDevice())
        limits = Limits(call_s=call_s)
        try:
            with Runner(
                binary=binary, launch=launch, arena=arena, limits=limits, n_threads=2, templates=forks
            ) as runner:  # fmt: skip
                bench = Bench(runner, arena)
                bench.bind(0, 1, 2)
                yield bench
            assert bool(arena.margins_hold())
        finally:
            arena.close()

    return started


def test_calls_are_made_on_the_judges_memory(start: Start) -> None:
    with start(GOOD) as bench:
        assert bench.run(0, 3.0).eq(7).all()
        bench.runner.touch([0, 1], timeout_s=5)
        bench.runner.ready([1, 2], timeout_s=20)
        assert bench.outside(1, 4.0).eq(9).all()
        assert bench.outside(2, 5.0).eq(11).all()
        assert bench.tensor(0, "y").eq(7).all(), "another slot was called"
        bench.runner.outside([], timeout_s=5, look=lambda: None)


def test_the_sandbox_is_named(start: Start) -> None:
    with start(GOOD) as bench:
        wanted = {"pid-ns", "net-ns", "ipc-ns", "mount-ns", "own-proc", "own-scratch", "no-capabilities", "seccomp"}
        assert wanted <= set(bench.runner.isolation)
        assert "rlimit-memory" not in bench.runner.isolation


def test_several_files_import_each_other(start: Start) -> None:
    first = "import file1\n\ndef row_scale(x, w, y, R, C):\n    file1.work(x, w, y)\n"
    with start(first, "def work(x, w, y):\n    y.copy_(x * w + 1)\n") as bench:
        assert bench.run(0, 3.0).eq(7).all()


@pytest.mark.parametrize(
    ("body", "words"),
    [("raise ValueError('no')", "raised"), ("return y", "returned a value"), ("return 5", "returned a value")],
)
@pytest.mark.parametrize("outside", [False, True])
def test_what_an_entry_point_may_not_do(start: Start, body: str, words: str, outside: bool) -> None:
    with start(f"def row_scale(x, w, y, R, C):\n    {body}\n") as bench:
        bench.runner.ready([0], timeout_s=20)  # on what lies there, nobody's input: whatever happens is no fault
        with pytest.raises(CandidateFault, match=words) as found:
            bench.outside(0, 1.0) if outside else bench.run(0, 1.0)
        assert found.value.outcome is Outcome.REFUSED


def test_an_answer_without_work_is_not_believed(start: Start) -> None:
    """Queued and done are only words: the judge's copy has the bytes that were there."""
    with start("def row_scale(x, w, y, R, C):\n    pass\n") as bench:
        assert bench.outside(0, 3.0).eq(-1).all()


PROGRAM = """
import ctypes, os, pathlib, subprocess
folder = pathlib.Path(os.environ["TMPDIR"])
(folder / "part.c").write_text("float plus_one(float a) { return a + 1; }")
subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "part.c", "-o", "part.so"], cwd=folder, check=True)
status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
facts = dict(line.split(":\\t") for line in status.splitlines() if ":\\t" in line)
assert int(facts["CapEff"], 16) == 0 and int(facts["CapPrm"], 16) == 0, "a program has rights that its parent lacks"
assert facts["NoNewPrivs"] == "1" and facts["Seccomp"] == "2"
subprocess.run(["sh", "-c", "echo content > /dev/null && test -w $HOME"], stdin=subprocess.DEVNULL, check=True)
part = ctypes.CDLL(str(folder / "part.so"))
part.plus_one.argtypes, part.plus_one.restype = [ctypes.c_float], ctypes.c_float

def row_scale(x, w, y, R, C):
    y.copy_(x * w)
    y.add_(part.plus_one(0.0))
"""


def test_a_module_may_start_a_compiler_and_load_what_it_made(start: Start) -> None:
    with start(PROGRAM) as bench:
        assert bench.run(0, 3.0).eq(7).all()


TRIES = """
import ctypes, os, socket, threading

def tried(what):
    try:
        what()
    except OSError as error:
        return error.strerror
    return "done"

def writes(path):
    with open(path, "w"):
        pass

libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def by_a_child(what):
    ours, its = os.pipe()
    if os.fork() == 0:
        os.write(its, tried(what).encode())
        os._exit(0)
    os.wait()
    return os.read(ours, 100).decode()

found = {
    "socket": tried(lambda: socket.socket()),
    "socket of a child": by_a_child(lambda: socket.socket()),
    "tmp": tried(lambda: writes("/tmp/ke-was-here")),
    "home": tried(lambda: writes("/root/ke-was-here")),
    "usr": tried(lambda: writes("/usr/ke-was-here")),
    "ours": tried(lambda: open(%(ours)r).close()),
    "kill": tried(lambda: os.kill(1, 0)),
    "mount": tried(lambda: call(165, b"tmpfs", b"/tmp", b"tmpfs", 0, None)),
    "namespace": tried(lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0)),
    "alarm": tried(lambda: call(222, 0, None, None)),
    "mode": tried(lambda: os.chmod(os.environ["HOME"], 0o700)),
}
refusals = ("Permission denied", "Operation not permitted", "Read-only file system")
done = {name: how for name, how in found.items() if how not in refusals}
assert not done, done
writes("/dev/shm/here")
writes(f"/proc/self/task/{threading.get_native_id()}/comm")  # as a driver names its threads, and ends where it may not
assert len([name for name in os.listdir("/proc") if name.isdigit()]) == 2

def row_scale(x, w, y, R, C):
    y.copy_(x * w + 1)
"""


def test_nothing_else_may_be_written_and_nobody_talked_to(start: Start) -> None:
    with start(TRIES % {"ours": __file__}) as bench:
        assert bench.run(0, 3.0).eq(7).all()
    assert not Path("/dev/shm/here").exists()


def test_a_graph_that_lacks_work_of_the_call_is_noticed() -> None:
    before = torch.full((4 * 512,), 255, dtype=torch.uint8)
    called, replayed = before.clone(), before.clone()
    called[600:1200] = 1
    assert lacks_work(before, called, replayed)
    replayed[600:1100] = 2  # other bytes, as a sum in another order has
    assert not lacks_work(before, called, replayed)
    called[-1] = 0
    assert lacks_work(before, called, replayed)
    replayed[:] = 3
    assert not lacks_work(before, called, replayed)


FAMILY = """
import os, subprocess, threading, time

def count(place):
    while True:
        place[0] = place[0] + 1 if place[0] >= 0 else 0

def row_scale(x, w, y, R, C):
    flat = y.view(-1)
    for index in range(3):
        if os.fork() == 0:
            if index == 2 and os.fork() != 0:
                os._exit(0)  # its child is nobody's
            count(flat[index:])
    time.sleep(0.2)
"""


def test_what_a_module_started_stands_still_with_it(start: Start) -> None:
    """They count in memory the judge sees."""
    with start(FAMILY) as bench:
        bench.run(0, 3.0)
        still = bench.tensor(0, "y")[:3].clone()
        assert (still > 0).all(), "they never ran"
        bench.runner.touch([0], timeout_s=5)
        after = bench.tensor(0, "y")[:3].clone()
        for _ in range(20):
            torch.mm(torch.ones(256, 256), torch.ones(256, 256))
        assert bench.tensor(0, "y")[:3].equal(after)
        assert not after.equal(still), "awake in a window like the rest"


# What only a GPU can show. Each of them in seconds.

COMPILED_KERNEL = """
import torch
source = '''
extern "C" __global__ void scale(const float* x, const float* w, float* y, int R, int C) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < R * C) y[at] = x[at] * w[at % C] + 1;
}
'''
kernel = torch.cuda._compile_kernel(source, "scale")

def row_scale(x, w, y, R, C):
    kernel(((R * C + 255) // 256, 1, 1), (256, 1, 1), (x, w, y, R, C))
"""
TRITON_KERNEL = """
import triton
from file1 import scale

def row_scale(x, w, y, R, C):
    scale[(triton.cdiv(R * C, 256),)](x, w, y, R * C, C, BLOCK=256)
"""
TRITON_FILE = """
import triton
import triton.language as tl

@triton.jit
def scale(x, w, y, n, C, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) * tl.load(w + at % C, at < n) + 1, at < n)
"""
TORCH_COMPILE = """
import torch

@torch.compile
def scaled(x, w):
    return x * w + 1

def row_scale(x, w, y, R, C):
    y.copy_(scaled(x, w))
"""
OWN_STREAM = """
import torch

def row_scale(x, w, y, R, C):
    with torch.cuda.stream(torch.cuda.default_stream()):
        y.copy_(x * w + 1)
"""
WAITS = """
import torch

def row_scale(x, w, y, R, C):
    if x[0, 0].item() == -12345.0:
        return
    y.copy_(x * w + 1)
"""


UNJOINED = """
import torch
side = torch.cuda.Stream()

def row_scale(x, w, y, R, C):
    with torch.cuda.stream(side):
        y.copy_(x * w + 1)
"""
FAULT = """
import torch

def row_scale(x, w, y, R, C):
    y.view(-1)[torch.full((1,), 10**9, device=y.device)] = 1
"""
WAYS = {
    "torch": (GOOD,), "NVRTC": (COMPILED_KERNEL,), "Triton": (TRITON_KERNEL, TRITON_FILE),
    "torch.compile": (TORCH_COMPILE,), "another stream": (OWN_STREAM,), "waits for the device": (WAITS,),
    "a stream of its own that nobody joins": (UNJOINED,),
}  # fmt: skip


NO_GRAPH = ("another stream", "waits for the device", "a stream of its own that nobody joins")
"""Ways that cannot be captured whole: the calls themselves are timed then."""


@pytest.mark.device
@pytest.mark.skipif(gpu() is None, reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("way", WAYS)
def test_on_a_gpu_each_way_to_write_one_is_right_called_and_replayed(start: Start, way: str) -> None:
    with start(*WAYS[way], device=CudaDevice(), call_s=60.0) as bench:
        assert bench.run(0, 3.0).eq(7).all(), bench.runner.printed
        bench.runner.ready([0, 1, 2], timeout_s=60)
        for slot, number in ((1, 4.0), (2, 5.0), (1, 6.0)):
            assert bench.outside(slot, number).eq(2 * number + 1).all(), bench.runner.printed
        assert bench.run(0, 8.0).eq(17).all(), "a graph that was refused must leave calls as they are"
        assert ("without" in bench.runner.printed) == (way in NO_GRAPH), bench.runner.printed


@pytest.mark.device
@pytest.mark.skipif(gpu() is None, reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("when", ["called", "made ready"])
def test_on_a_gpu_a_fault_of_the_device_is_a_crash(start: Start, when: str) -> None:
    with start(FAULT, device=CudaDevice()) as bench:
        calls: dict[str, Callable[..., object]] = {"called": bench.runner.run, "made ready": bench.runner.ready}
        with pytest.raises(CandidateFault) as caught:
            calls[when]([0], timeout_s=20)
    assert caught.value.outcome is Outcome.CRASHED


WALLS = """
import pathlib

def walls(task):
    facts = dict(line.split(":\\t") for line in (task / "status").read_text().splitlines() if ":\\t" in line)
    return facts["Seccomp"], int(facts["CapEff"], 16), facts["NoNewPrivs"]

tasks = [walls(task) for task in pathlib.Path("/proc/self/task").iterdir()]
assert len(tasks) > 1 and set(tasks) == {("2", 0, "1")}, tasks
"""


@pytest.mark.device
@pytest.mark.skipif(gpu() is None, reason="needs an NVIDIA GPU")
def test_on_a_gpu_the_drivers_threads_are_behind_the_same_walls(start: Start) -> None:
    """What a candidate cannot do itself it could make a thread do that was born before the walls."""
    with start(WALLS + GOOD, device=CudaDevice()) as bench:
        assert bench.run(0, 3.0).eq(7).all()
