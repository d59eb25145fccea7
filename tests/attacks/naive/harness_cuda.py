"""The naive side on a GPU: harness.py's habits with device memory, events and one caching allocator for everybody.

The cuda lane's candidate is `kernel.cu` with `launch.toml` beside it, compiled here by cupy's NVRTC; lane triton's is
`kernel.py` with `launch.toml`, lane cuda_python's `kernel.py` with the entry point. On a GPU machine:
python -m tests.attacks.naive.harness_cuda FOLDER..  judges whole entries, each in a process of its own; with
TASK_FOLDER CANDIDATE OPTIONS_JSON it is that process.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernelevolve.errors import TaskError
from kernelevolve.model.task import Task, evaluate_dim
from kernelevolve.selftest.corpus import Entry, read_entry
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.abi import is_scalar
from tests.attacks.naive.harness import SEED, bound_axes, calculate_stats, check, get_inputs, load_module

N_TIMED = 30
FASTER = 1.5
ROOT = Path(__file__).parents[3]
HONEST = Path(__file__).with_name("honest_cuda")


def load_task_for_gpu(folder: Path) -> Task:
    """The task's cuda section, or the cpu one where it has none."""
    try:
        return load_task(str(folder), platform="cuda")
    except TaskError:
        return load_task(str(folder), platform="cpu")


def load_kernels(source: Path, task: Task, shape: dict[str, int]) -> Callable[..., Callable[[], Any]]:
    """Compile the module and allocate its scratch, once for the whole run: device statics and scratch live on."""
    import cupy  # noqa: PLC0415 - only where there is a GPU

    plan = tomllib.loads(source.with_name("launch.toml").read_text())
    module = cupy.RawModule(code=source.read_text(), backend="nvrtc", options=("--std=c++17",))
    functions = {launch["kernel"]: module.get_function(launch["kernel"]) for launch in plan["launch"]}
    sizes = {**shape, **{item["name"]: int(item["value"]) for item in plan.get("constant", ())}}
    scratch = {
        item["name"]: torch.empty(evaluate_dim(str(item["bytes"]), sizes), dtype=torch.uint8, device="cuda")
        for item in plan.get("scratch", ())
    }

    def prepare(*arguments: Any) -> Callable[[], Any]:
        names = [item.name for item in (*task.inputs, *task.outputs, *task.axes)]
        values = {**sizes, **scratch, **dict(zip(names, arguments, strict=True))}
        launches = []
        for launch in plan["launch"]:
            grid, block = (tuple(evaluate_dim(str(n), sizes) for n in launch[key]) for key in ("grid", "block"))
            shared = evaluate_dim(str(launch.get("shared_bytes", "0")), sizes)
            packed = tuple(packed_argument(name, values, sizes) for name in launch.get("args", ()))
            if shared > 48 * 1024:
                with contextlib.suppress(Exception):
                    functions[launch["kernel"]].max_dynamic_shared_size_bytes = shared
            launches.append((functions[launch["kernel"]], grid, block, packed, shared))

        def call() -> None:
            stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
            with stream:
                for function, grid, block, packed, shared in launches:
                    with contextlib.suppress(Exception):  # the launch's return code, which nobody reads
                        function(grid, block, packed, shared_mem=shared)

        return call

    return prepare


def load_triton(source: Path, task: Task, shape: dict[str, int]) -> Callable[..., Callable[[], Any]]:
    """The kernels of a Triton module, compiled when they are first called."""
    plan = tomllib.loads(source.with_name("launch.toml").read_text())
    module = load_module(source, "candidate")
    sizes = {**shape, **{item["name"]: int(item["value"]) for item in plan.get("constant", ())}}
    scratch = {
        item["name"]: torch.empty(evaluate_dim(str(item["bytes"]), sizes) // 4, dtype=torch.float32, device="cuda")
        for item in plan.get("scratch", ())
    }

    def prepare(*arguments: Any) -> Callable[[], Any]:
        names = [item.name for item in (*task.inputs, *task.outputs, *task.axes)]
        values = {**sizes, **scratch, **dict(zip(names, arguments, strict=True))}

        def call() -> None:
            for launch in plan["launch"]:
                grid = tuple(evaluate_dim(str(n), sizes) for n in launch["grid"])
                words = [text.partition(":")[0] for text in launch.get("args", ())]
                fixed = {name: evaluate_dim(str(n), sizes) for name, n in launch.get("constexprs", {}).items()}
                given = [values[word] if word in values else evaluate_dim(word, sizes) for word in words]
                getattr(module, launch["kernel"])[grid](*given, **fixed)

        return call

    return prepare


def packed_argument(name: str, values: dict[str, Any], sizes: dict[str, int]) -> Any:
    """Tensors as pointers, real scalars as double, everything else as long long."""
    import numpy  # noqa: ICN001, PLC0415

    value = values[name] if name in values else evaluate_dim(name, sizes)
    if isinstance(value, torch.Tensor):
        return numpy.uint64(value.data_ptr())
    return numpy.float64(value) if isinstance(value, float) else numpy.int64(value)


def time_calls(call: Callable[[], Any], n_calls: int) -> list[float]:
    """Events on the current stream around every call, on the same tensors; one synchronisation at the end."""
    pairs = []
    for _ in range(n_calls):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    return [start.elapsed_time(end) / 1e3 for start, end in pairs]


def time_replays(call: Callable[[], Any], n_calls: int) -> list[float]:
    """A graph of the call, replayed, as some public harnesses measure; plain calls where it cannot be captured."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            call()
    except Exception:  # noqa: BLE001 - whatever a captured call raises
        return time_calls(call, n_calls)
    return time_calls(lambda: graph.replay(), n_calls)


def emit(result: dict[str, Any]) -> None:
    print("RESULT " + json.dumps(result), flush=True)


def main(task_folder: Path, candidate: Path, options: dict[str, Any]) -> None:
    torch.manual_seed(SEED)
    random.seed(SEED)
    task = load_task_for_gpu(task_folder)
    shape = dict(options.get("shape") or (task.shapes.search or task.shapes.shown)[0])
    module = load_module(task_folder / "reference.py", "reference")
    atol, rtol = options.get("atol", 1e-2), options.get("rtol", 1e-2)

    drawn = get_inputs(module, shape, options)
    inputs = {spec.name: drawn[spec.name] if is_scalar(spec) else drawn[spec.name].to("cuda") for spec in task.inputs}
    sizes = bound_axes(task, shape, inputs)
    names = module.reference.__code__.co_varnames[: module.reference.__code__.co_argcount]
    keywords = {axis.name: sizes[axis.name] for axis in task.axes if axis.name in names}

    states = {spec.name: inputs[spec.name].clone() for spec in task.inputs if spec.in_place}

    def begin_again() -> None:
        for name, value in states.items():
            inputs[name].copy_(value)

    def run_reference() -> list[torch.Tensor]:
        result = module.reference(**inputs, **keywords)
        results = [] if result is None else list(result) if isinstance(result, tuple | list) else [result]
        return [inputs[spec.name] for spec in task.inputs if spec.in_place] + results

    def load() -> Callable[..., Callable[[], Any]]:
        if candidate.suffix == ".cu":
            return load_kernels(candidate, task, shape)
        if candidate.with_name("launch.toml").exists():
            return load_triton(candidate, task, shape)
        function = getattr(load_module(candidate, "candidate"), task.entry)
        return lambda *arguments: lambda: function(*arguments)

    entry = None if options.get("load") == "late" else load()
    reference_first = options.get("order", "reference_first") == "reference_first"
    # The clones reuse the reference's temporaries; its results go back to the allocator with the answer in them.
    expected = [value.clone() for value in run_reference()] if reference_first else []
    begin_again()
    entry = entry or load()
    outputs = [
        torch.empty([evaluate_dim(dim, sizes) for dim in spec.dims], dtype=getattr(torch, spec.dtype), device="cuda")
        for spec in task.outputs
    ]
    arguments = [inputs[spec.name] for spec in task.inputs] + outputs + [sizes[axis.name] for axis in task.axes]

    call_candidate = entry(*arguments)
    returned = call_candidate()
    if isinstance(returned, torch.Tensor):
        outputs = [returned]
    torch.cuda.synchronize()
    produced = [inputs[name].clone() for name in states] + outputs
    if not reference_first:
        begin_again()
        expected = run_reference()
    correct = check(produced, expected, atol, rtol, options.get("metric", "every"))
    gc.collect()
    measure = time_replays if options.get("timing") == "graph" else time_calls
    try:
        candidate_s = calculate_stats(measure(call_candidate, N_TIMED))
        baseline_s = calculate_stats(measure(run_reference, N_TIMED))
    except Exception:  # noqa: BLE001 - a fault while timing is taken for the machine's: it was right, so it counts
        candidate_s = baseline_s = 1.0
    emit({"correct": bool(correct), "candidate_us": candidate_s * 1e6, "speedup": baseline_s / max(candidate_s, 1e-12)})


def score(task: Path, candidate: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The first result line on stdout, whoever wrote it."""
    command = [sys.executable, "-m", "tests.attacks.naive.harness_cuda", str(task), str(candidate), json.dumps(options)]
    environment = dict(os.environ, PYTHONPATH=f"{ROOT}:{ROOT / 'src'}")
    try:
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True,
            timeout=options.get("timeout_s", 90), check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"correct": False, "speedup": 0.0, "text": "timed out"}
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        return {"correct": False, "speedup": 0.0, "text": f"exit code {done.returncode}: {done.stderr[-300:]}"}
    result: dict[str, Any] = json.loads(lines[0])
    return {**result, "text": lines[0]}


def fooled(entry: Entry) -> tuple[bool, str]:
    """Whether the naive harness credits the attack, and what it said."""
    suffix = "cu" if entry.lane == "cuda" else "py"
    got = score(entry.task_folder, Path(entry.folder) / f"kernel.{suffix}", entry.options)
    if entry.naive != "faster" or not got["correct"]:
        return bool(got["correct"]), got["text"]
    speedups = []
    for _ in range(3):
        honest = score(entry.task_folder, HONEST / entry.task_folder.name / f"kernel.{suffix}", entry.options)
        speedups.append(honest["speedup"])
    honest_speedup = statistics.median(speedups)
    return got["speedup"] > FASTER * honest_speedup, f"{got['text']}; honest {honest_speedup:.2f}x"


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[3].startswith("{"):
        with torch.no_grad():
            main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
    else:
        for word in sys.argv[1:]:
            ok, text = fooled(read_entry(Path(word) / "attack.toml"))
            print(f"{'FOOLED' if ok else 'not fooled'}  {word}: {text}", flush=True)
