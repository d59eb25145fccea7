"""Clocks on a GPU: bias and noise of the ways to time a kernel, and how fast this device copies, by the judge's clock.

    python benchmarks/gpu_clocks.py --out docs/results/h200/clocks.json [--repeats 20] [--only rates]

One kernel (x = -x, in place) of about 3, 30 and 300 us, cold and warm: one launch between events, do_bench, the
driver's activity records (CUPTI), the judge's clock (calls on different slots in one graph), the slopes of that graph
on the device's and on the host's clock. Then what different flushes make of the same kernel, what a plain in-place
change and a copy reach at sizes from 4 KB to 1 GB, and what an empty kernel costs in the judge's graph. The device's
settings are read, never changed. Everything is printed as Markdown at the end; the file has every sample.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelevolve.farm.process import QUIET

os.environ |= QUIET  # before torch: its threads must not spin

from gpu_clocks_judge import Bench, empty_calls, graph_clocks, rate_samples  # noqa: E402

MB = 2**20
SIZES = (("3 us", 2 * MB, 3.0), ("30 us", 64 * MB, 30.0), ("300 us", 600 * MB, 300.0))
"""Name, bytes of the tensor, and about how long the kernel takes; twice the bytes are moved."""
MOVED_BYTES = tuple(2**power for power in (12, 16, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30))
N_RATES = 9
CHILD_TIMEOUT_S = 120.0
SENSORS = "clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu,clocks_event_reasons.active,utilization.gpu"
CLOCKS = {
    "event pair": "one launch between two events, host waits",
    "do_bench": "triton.testing.do_bench",
    "do_bench_cudagraph": "triton.testing.do_bench_cudagraph",
    "CUPTI": "activity records, kernel alone",
    "CUPTI rotation": "activity records, other buffers, one graph",
    "judge": "judge: a graph of calls on slots, device events inside",
    "judge slope": "judge's graph, (T(2N)-T(N))/N on the device",
    "outside slope": "judge's graph, (T(2N)-T(N))/N on the host",
}


@contextmanager
def told(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    sys.stderr.write(f"{what}: {time.monotonic() - started:.1f} s\n")
    sys.stderr.flush()


def sensors() -> dict[str, str]:
    """Clocks, power and temperature, read only; empty where neither NVML nor nvidia-smi is there."""
    command = ["nvidia-smi", f"--query-gpu={SENSORS}", "--format=csv,noheader", "--id=0"]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return by_nvml()
    values = [value.strip() for value in finished.stdout.strip().split(",")]
    return dict(zip(SENSORS.split(","), values, strict=False)) if finished.returncode == 0 else by_nvml()


def by_nvml() -> dict[str, str]:
    try:
        import pynvml
    except ImportError:
        return {}
    try:
        pynvml.nvmlInit()
        device = pynvml.nvmlDeviceGetHandleByIndex(0)
        return {
            "clocks.sm": f"{pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM)} MHz",
            "clocks.mem": f"{pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_MEM)} MHz",
            "power.draw": f"{pynvml.nvmlDeviceGetPowerUsage(device) / 1e3:.1f} W",
            "temperature.gpu": str(pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU)),
            "throttle reasons": hex(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(device)),
        }
    except pynvml.NVMLError as error:
        return {"NVML": str(error)}


def child(kind: str, request: dict[str, Any], folder: Path) -> dict[str, list[float]]:
    """Samples in us by name. What a child says is shown; that it failed costs its own rows only."""
    path = folder / f"{kind}.json"
    path.write_text(json.dumps(request))
    command = [sys.executable, str(Path(__file__).with_name("gpu_clocks_others.py")), kind, str(path)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=CHILD_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"{kind}: no answer within {CHILD_TIMEOUT_S:.0f} s\n")
        return {}
    sys.stderr.write(finished.stderr[-4000:])
    if finished.returncode != 0:
        sys.stderr.write(f"{kind}: ended with {finished.returncode}\n")
        return {}
    found: dict[str, list[float]] = json.loads(finished.stdout.strip().splitlines()[-1])
    return found


def spread(samples: list[float]) -> float:
    """A/A: standard deviation of ln(one sample / the next), neighbours in pairs, in per cent."""
    positive = [max(value, 1e-9) for value in samples]
    logs = [math.log(a / b) for a, b in zip(positive[::2], positive[1::2], strict=False)]
    return 100 * statistics.stdev(logs) if len(logs) > 1 else math.nan


def rows(record: dict[str, Any]) -> dict[str, list[float]]:
    """Samples in us by "size state clock"."""
    found = dict(record["judge"])
    found |= record["events"]
    for size, _, _ in SIZES:
        for key, name in (
            (f"{size} cold CUPTI", "write_read"), (f"{size} warm CUPTI", "none"),
            (f"{size} cold CUPTI rotation", "rotation in a graph"),
        ):  # fmt: skip
            if f"{size} {name}" in record["cupti"]:
                found[key] = record["cupti"][f"{size} {name}"]
    return found


def clock_table(record: dict[str, Any]) -> list[str]:
    found = rows(record)
    lines = [
        "| kernel | cache | clock | median us | A/A SD % | against CUPTI | against CUPTI, rotation |",
        "|" + "---|" * 7,
    ]
    for size, _, _ in SIZES:
        for state in ("cold", "warm"):
            alone, rotated = (found.get(f"{size} {state} {name}", []) for name in ("CUPTI", "CUPTI rotation"))
            for clock in CLOCKS:
                if samples := found.get(f"{size} {state} {clock}"):
                    us = statistics.median(samples)
                    lines.append(
                        f"| {size} | {state} | {CLOCKS[clock]} | {us:.2f} | {spread(samples):.2f} | "
                        f"{_bias(us, alone)} | {_bias(us, rotated)} |"
                    )
    return lines


def _bias(us: float, reference: list[float]) -> str:
    if not reference:
        return "-"
    true = statistics.median(reference)
    return f"{us - true:+.2f} us, {100 * (us / true - 1):+.1f} %"


def flush_table(record: dict[str, Any]) -> list[str]:
    names = {
        "none": "none (the same buffer again)", "zero": "256 MB of zeros written",
        "zero_small": "3x L2 of zeros written", "read": "256 MB read",
        "write_read": "3x L2 written, then 3x L2 read (the judge's)",
        "rotation": "other buffers in turn", "rotation in a graph": "other buffers in turn, in one graph",
    }  # fmt: skip
    lines = ["| before the call | " + " | ".join(f"{size}, us" for size, _, _ in SIZES) + " |", "|" + "---|" * 4]
    for name, words in names.items():
        cells = []
        for size, _, _ in SIZES:
            samples = record["cupti"].get(f"{size} {name}")
            cells.append(f"{statistics.median(samples):.2f} ({spread(samples):.2f} %)" if samples else "-")
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def rate_table(record: dict[str, Any]) -> list[str]:
    """The best of several ways to write each of the two is what the device can do at that size."""
    lines = [
        "| MB read + written | in place GB/s | us | way | copy GB/s | us | way | floor GB/s |", "|" + "---|" * 8,
    ]  # fmt: skip
    for n_bytes in MOVED_BYTES:
        cells, best = [], 0.0
        for kernel in ("negate", "copy"):
            ways = record["rates"][kernel][str(n_bytes)]
            way = min(ways, key=lambda name: statistics.median(ways[name]))
            us = statistics.median(ways[way])
            best = max(best, n_bytes / us / 1e3)
            cells.append(f"{n_bytes / us / 1e3:.0f} | {us:.2f} | {way}")
        lines.append(f"| {n_bytes / 1e6:.3g} | {' | '.join(cells)} | {best:.0f} |")
    return lines


def report(record: dict[str, Any]) -> str:
    empty = {n: statistics.median(samples) for n, samples in record["empty"].items()}
    each = [f"{n} in a graph: {us:.3f} us each" for n, us in empty.items()]
    counts = sorted(int(n) for n in empty)
    few, many = counts[0], counts[-1]
    slope = (empty[str(many)] * many - empty[str(few)] * few) / (many - few)
    state = [f"{when}: {values}" for when, values in record["sensors"].items()]
    parts = [
        "### Sensors", *(f"- {line}" for line in state), "", "### Empty kernel, judge's clock", "; ".join(each),
        f"slope {slope:.3f} us a launch", "",
        "### What a call finds in the cache: kernel time by CUPTI, median (A/A SD)",
        *flush_table(record), "", "### Plain kernels, judge's clock, cold", *rate_table(record), "",
        "### Clocks", *clock_table(record),
    ]  # fmt: skip
    return "\n".join(parts)


def only_rates(record: dict[str, Any], out: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="ke-clocks-") as name:
        bench = Bench(Path(name))
        record["rates"] = rate_samples(bench, MOVED_BYTES, repeats=N_RATES)
        bench.close()
    record["sensors"]["after"] = sensors()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n")
    print("\n".join(rate_table(record)))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", choices=("", "rates"), default="")
    options = parser.parse_args()
    record: dict[str, Any] = {"repeats": options.repeats, "judge": {}, "sensors": {"before": sensors()}}
    if options.only:
        return only_rates(record, options.out)
    with tempfile.TemporaryDirectory(prefix="ke-clocks-") as name:
        bench = Bench(Path(name))
        record["device"] = bench.about()
        with told("judge's clock"):
            for size, n_bytes, _ in SIZES:
                samples = graph_clocks(bench, n_bytes // 4, repeats=options.repeats)
                record["judge"] |= {f"{size} {key}": values for key, values in samples.items()}
        record["sensors"]["after the judge's clock"] = sensors()
        with told("empty kernel"):
            record["empty"] = empty_calls(bench, repeats=options.repeats)
        with told("rates"):
            record["rates"] = rate_samples(bench, MOVED_BYTES, repeats=N_RATES)
        record["sensors"]["after the rates"] = sensors()
        request = bench.request([(size, n_bytes // 4, about) for size, n_bytes, about in SIZES], options.repeats)
        bench.close()
        for kind in ("events", "cupti"):
            with told(kind):
                record[kind] = child(kind, request, Path(name))
        record["sensors"]["after"] = sensors()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    print(report(record))
    return 0 if record["events"] and record["cupti"] else 1


if __name__ == "__main__":
    sys.exit(main())
