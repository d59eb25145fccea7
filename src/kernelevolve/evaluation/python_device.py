"""A Python candidate's calls on a device: tensors in the judge's memory, graphs of calls, and a wait for the device.

Part of the process that a candidate lives in; nothing it says counts. Verbs beside "A" (bind) and "T" (acknowledge):
"C n slot.." captures a graph of the call on each slot that has none, "R n slot.." calls, waits for the device and then
answers, "O n slot.." replays (or calls), answers "L" when the device has everything and has begun, then waits.
Without a device, where the arena is the host's, there are no graphs and nothing to wait for.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from kernelevolve.evaluation.device_arena import opened
from kernelevolve.evaluation.python_arguments import ArgumentPlan

RAISED, RETURNED, FAULTED = 97, 98, 96
"""Codes of a call that is no 0: it raised, it returned a value, the device faulted."""
LARGEST = 2 * 2**30
"""Bytes of a slot up to which graphs are made: making sure of one takes twice as much."""
N_WARM = 2
MAX_REFUSED = 8
"""Captures that may fail before none is tried any more: each of them costs a stream, and memory that comes with it."""
FILE_BYTES = 256 * 2**20
OWN_THREADS = "/proc/self/task"
_FOLDERS = {
    "HOME": "home", "TMPDIR": "tmp", "TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "CUDA_CACHE_PATH": "cuda", "TORCH_EXTENSIONS_DIR": "extensions",
}  # fmt: skip
Call = Callable[[tuple[Any, ...]], int]


def lend_scratch() -> str:
    """The one folder that may be written to, known to whatever compiles; empty where there is none of our own."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # its pool of processes talks over sockets
    scratch = os.environ.pop("KE_SCRATCH", "")
    for name, folder in _FOLDERS.items() if scratch else ():
        path = Path(scratch, folder)
        path.mkdir()
        os.environ[name] = str(path)
    return scratch


def devices() -> list[str]:
    """What a driver opens, and the files that programs take for granted. A driver names its threads, and does without
    the device where it may not."""
    drivers = [str(path) for path in Path("/dev").glob("nvidia*")]
    # Landlock knows the folder by what stands for it now: left open, that is not made anew.
    os.open(OWN_THREADS, os.O_PATH)
    return [*drivers, OWN_THREADS, "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]


def opened_warm(handle: str, n_bytes: int) -> torch.Tensor:
    """The arena, when the device is open and what every candidate may use has been loaded. Raises MachineError."""
    memory = opened(handle, n_bytes)
    square = torch.ones(64, 64, device=memory.device)
    (square @ square).sum().item()
    return memory


class Calls:
    def __init__(self, plan: ArgumentPlan, memory: torch.Tensor, call: Call) -> None:
        """`call` returns 0, `RAISED` or `RETURNED`, and never raises what a candidate may."""
        self._plan, self._memory, self._call = plan, memory, call
        self._arguments: dict[int, tuple[Any, ...]] = {}
        self._graphs: dict[int, Any] = {}
        """None: cannot be captured."""
        self._stream: Any = None
        self._pool: Any = None
        self._n_refused = 0
        self._ranges: dict[int, slice] = {}

    def bind(self, words: list[str]) -> None:
        slot = int(words[0])
        self._graphs.pop(slot, None)  # it holds the addresses of before
        self._arguments[slot] = self._plan.arguments(words, self._memory)
        start, n_bytes = int(words[1]), int(words[2])
        self._ranges[slot] = slice(start, start + n_bytes)

    def capture(self, order: list[int]) -> tuple[int, int]:
        for done, slot in enumerate(order):
            if slot in self._graphs or not self._memory.is_cuda or self._n_refused >= MAX_REFUSED:
                continue
            held = self._memory[self._ranges[slot]]
            self._graphs[slot] = self._captured(self._arguments[slot], held) if held.numel() <= LARGEST else None
            if not self._settled():
                return done, FAULTED
        return len(order), 0

    def launch(self, order: list[int], *, graphs: bool) -> tuple[int, int]:
        """(how many were given to the device, the code of the one that was not)."""
        for done, slot in enumerate(order):
            graph = self._graphs.get(slot) if graphs else None
            if graph is not None:
                graph.replay()
            elif (code := self._call(self._arguments[slot])) != 0:
                return done, code
        return len(order), 0

    def begin(self) -> Any:
        """Before the first launch: what tells that the device has got to it."""
        if not self._memory.is_cuda:
            return None
        event = torch.cuda.Event()
        event.record()
        return event

    def await_start(self, begun: Any) -> None:
        """Until the device works for this process: from then on, what others ask of it comes after what is queued."""
        with suppress(RuntimeError):  # the device faulted, which `finish` finds as well
            while begun is not None and not begun.query():
                pass

    def finish(self, code: int) -> int:
        """Wait for the device; a fault of its own says more than what it made a call raise."""
        return code if self._settled() else FAULTED

    def _settled(self) -> bool:
        if not self._memory.is_cuda:
            return True
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            _log(error)
            return False
        return True

    def _captured(self, arguments: tuple[Any, ...], held: torch.Tensor) -> Any:
        """A graph of the call on the slot `held`, or None. What lies there is nobody's input: it may raise on that."""
        before = held.clone()
        if self._stream is None:
            self._stream, self._pool = _blocking_stream(), torch.cuda.graph_pool_handle()
        with torch.cuda.stream(self._stream):  # compiling and taking memory cannot be captured
            if any(self._call(arguments) != 0 for _ in range(N_WARM)) or not self._settled():
                return None
        called = held.clone()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
                code = self._call(arguments)
        except RuntimeError as error:
            _log(error)
            code = RAISED
        if code != 0:
            _say("a call could not be captured; calls are made without a graph")
            self._abandon()
            return None
        held.copy_(before)
        graph.replay()
        if not self._settled():
            return None
        if lacks_work(before, called, held):
            _say("the graph of a call lacks work that the call does; calls are made without it")
            return None
        return graph

    def _abandon(self) -> None:
        """After a capture that failed: nothing goes on being captured, nobody shares memory with it, and calls are not
        made on its stream, where torch stays in that case."""
        self._n_refused += 1
        torch.cuda.set_stream(torch.cuda.default_stream())
        unfinished = ctypes.c_void_p()
        ctypes.CDLL("libcuda.so.1").cuStreamEndCapture(
            ctypes.c_void_p(self._stream.cuda_stream), ctypes.byref(unfinished)
        )
        self._stream = None


def lacks_work(before: torch.Tensor, called: torch.Tensor, replayed: torch.Tensor) -> bool:
    """Whether a call wrote where a replay of it did not: work on a stream that nobody joins is done, and not captured.
    uint8 [n], n a multiple of 512. By lines of 512 bytes: of an answer summed in any order single bytes may differ."""

    def written(after: torch.Tensor) -> torch.Tensor:
        return (after.view(torch.int64) != before.view(torch.int64)).view(-1, 64).any(1)

    return bool((written(called) & ~written(replayed)).any())


def _blocking_stream() -> Any:
    """A stream that waits for the legacy one, unlike torch's: who launches there, past the stream that is captured,
    gets an error then, and no graph that lacks the launch."""
    stream = ctypes.c_void_p()
    code = ctypes.CDLL("libcuda.so.1").cuStreamCreate(ctypes.byref(stream), ctypes.c_uint(0))
    if code != 0:
        raise RuntimeError(f"no stream to capture on (CUDA error {code})")
    return torch.cuda.ExternalStream(stream.value)


def _log(error: BaseException) -> None:
    _say(f"{type(error).__name__}: {error}")


def _say(text: str) -> None:
    with _full_log_is_fine():
        os.write(2, f"{text}\n".encode()[:1000])


@contextmanager
def _full_log_is_fine() -> Iterator[None]:
    try:
        yield
    except OSError:
        return


def serve(control: int, reply: int, calls: Calls) -> None:
    with os.fdopen(control, "r", encoding="ascii") as lines:
        for line in lines:
            verb, words = line[0], line[1:].split()
            if verb == "A":
                calls.bind(words)
                continue
            order = [int(word) for word in words[1:]]
            done, code = len(order), 0
            if verb == "C":
                done, code = calls.capture(order)
            elif verb in "RO":
                begun = calls.begin() if verb == "O" else None
                done, code = calls.launch(order, graphs=verb == "O")
                if verb == "O":
                    calls.await_start(begun)
                    os.write(reply, b"L\n")
                code = calls.finish(code)
            os.write(reply, f"D {done} {code}\n".encode())
