"""The clocks that others use, on a kernel that is handed over as machine code: a child of gpu_clocks.py.

argv: events|cupti request.json. Prints one line of JSON. A process has either CUDA events or a profiler in it: one
that is attached makes every launch slower.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

FLUSH_FACTOR = 3
"""Times the second-level cache, as the judge's own flush."""
ZERO_BYTES = 256 * 2**20
"""What do_bench writes before every call."""
N_ROTATED = 8
SHORT_US = 20.0


class Kernel:
    """A kernel (pointer, long long) from a cubin, launched on torch's current stream."""

    def __init__(self, cubin: str, function: str, grid: int, block: int) -> None:
        torch.empty(1, device="cuda")
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._function = ctypes.c_void_p()
        module = ctypes.c_void_p()
        if code := self._driver.cuModuleLoadData(ctypes.byref(module), Path(cubin).read_bytes()):
            raise RuntimeError(f"{cubin} does not load: CUDA error {code}")
        if code := self._driver.cuModuleGetFunction(ctypes.byref(self._function), module, function.encode()):
            raise RuntimeError(f"no kernel {function}: CUDA error {code}")
        self._grid, self._block = grid, block

    def bound(self, data: torch.Tensor) -> Callable[[], None]:
        """A call on this tensor, as cheap for the host as it gets in Python."""
        values = ctypes.c_uint64(data.data_ptr()), ctypes.c_longlong(data.numel())
        pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(value) for value in values))
        launch, function, grid, block = self._driver.cuLaunchKernel, self._function, self._grid, self._block

        def call(keep: Any = (values, data)) -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            if code := launch(function, grid, 1, 1, block, 1, 1, 0, stream, pointers, None):
                raise RuntimeError(f"the kernel was not launched: CUDA error {code}")

        return call


class Flushes:
    """Ways to make the cache forget, each a call."""

    def __init__(self) -> None:
        n_bytes = FLUSH_FACTOR * torch.cuda.get_device_properties(0).L2_cache_size
        self._small = [torch.zeros(n_bytes // 4, dtype=torch.int32, device="cuda") for _ in range(2)]
        self._large = torch.zeros(ZERO_BYTES // 4, dtype=torch.int32, device="cuda")

    def none(self) -> None:
        return

    def write_read(self) -> None:
        self._small[0].add_(1)
        self._small[1].sum()

    def zero(self) -> None:
        self._large.zero_()

    def zero_small(self) -> None:
        self._small[0].zero_()

    def read(self) -> None:
        self._large.sum()


def events(request: dict[str, Any]) -> dict[str, Any]:
    from triton import testing

    flushes, found = Flushes(), {}
    torch.cuda._sleep(2000 * 20_000)  # the device's clocks must have come up from idling
    for size in request["sizes"]:
        data = torch.randn(size["n"], device="cuda")
        call = Kernel(request["cubin"], request["function"], size["grid"], size["block"]).bound(data)
        for state, flush in (("cold", flushes.write_read), ("warm", flushes.none)):
            call()
            found[f"{size['name']} {state} event pair"] = [_pair(call, flush) for _ in range(request["repeats"])]
        benches = {"cold do_bench": testing.do_bench, "warm do_bench_cudagraph": testing.do_bench_cudagraph}
        for name, bench in benches.items():
            found[f"{size['name']} {name}"] = [float(bench(call)) * 1e3 for _ in range(request["repeats"])]
    return found


def _pair(call: Callable[[], None], flush: Callable[[], None]) -> float:
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    flush()
    torch.cuda.synchronize()
    before.record()
    call()
    after.record()
    torch.cuda.synchronize()
    return float(before.elapsed_time(after)) * 1e3


def cupti(request: dict[str, Any]) -> dict[str, Any]:
    """Seconds of the kernel alone, by the driver's activity records: `repeats` groups, the mean of each."""
    flushes, found, repeats = Flushes(), {}, request["repeats"]
    torch.cuda._sleep(2000 * 20_000)
    for size in request["sizes"]:
        per = 8 if size["about_us"] < SHORT_US else 4
        kernel = Kernel(request["cubin"], request["function"], size["grid"], size["block"])
        slots = [torch.randn(size["n"], device="cuda") for _ in range(max(N_ROTATED, size["n_slots"]))]
        calls = [kernel.bound(slot) for slot in slots]
        for name in ("none", "write_read", "zero", "zero_small", "read"):
            flush = getattr(flushes, name)

            def flushed(flush: Callable[[], None] = flush, call: Callable[[], None] = calls[0], per: int = per) -> None:
                for _ in range(repeats * per):
                    flush()
                    call()
                    torch.cuda.synchronize()

            found[f"{size['name']} {name}"] = _means(_profiled(flushed, request["function"]), per)

        def rotated(calls: list[Callable[[], None]] = calls) -> None:
            for _ in range(repeats):
                for call in calls:
                    call()

        found[f"{size['name']} rotation"] = _means(_profiled(rotated, request["function"]), len(calls))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for call in calls:
                call()

        def replayed(graph: Any = graph) -> None:
            for _ in range(repeats):
                flushes.write_read()
                torch.cuda.synchronize()
                graph.replay()
                torch.cuda.synchronize()

        try:
            found[f"{size['name']} rotation in a graph"] = _means(_profiled(replayed, request["function"]), len(calls))
        except RuntimeError as error:
            sys.stderr.write(f"no activity records of a graph's kernels: {error}\n")
        del slots, calls, graph
        torch.cuda.empty_cache()
    return found


def _profiled(work: Callable[[], None], function: str) -> list[float]:
    """Durations in us of the kernels of that name, in the order in which they ran. The first run is not counted."""
    from torch.profiler import ProfilerActivity, profile

    work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        records = json.loads(path.read_text())["traceEvents"]
    kernels = [record for record in records if record.get("cat") == "kernel" and function in record["name"]]
    if not kernels:
        raise RuntimeError(f"the profiler recorded no kernel {function}; {len(records)} records in all")
    return [float(record["dur"]) for record in sorted(kernels, key=lambda record: float(record["ts"]))]


def _means(durations: list[float], per: int) -> list[float]:
    groups = [durations[at : at + per] for at in range(0, len(durations), per)]
    return [sum(group) / len(group) for group in groups]


def main() -> None:
    request = json.loads(Path(sys.argv[2]).read_text())
    found = {"events": events, "cupti": cupti}[sys.argv[1]](request)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
