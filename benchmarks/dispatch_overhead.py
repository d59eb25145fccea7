"""What an exported package costs per call, beside what it replaces. Prints one JSON object.

    python benchmarks/dispatch_overhead.py            exports a small operator for this machine (a GPU if there is one)
    python benchmarks/dispatch_overhead.py --cpu      the same for the CPU, also where there is a GPU
    python benchmarks/dispatch_overhead.py FOLDER     an exported package, at the first shape of its own test

Host time is what Python spends until it has the answer (CPU) or has queued the work (GPU): the median over samples of
many calls, with the device waited for between samples only. The kernel of the small operator does next to nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernelevolve.interfaces.export.write import export_package
from kernelevolve.interfaces.record import Record, fold
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Closed, Judged, Opened, Proposed, Settings
from kernelevolve.model.paths import Where, narrowed
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.model.verdict import Outcome, Stage, Verdict

CALLS, SAMPLES = 200, 40
REFERENCE = """\
import torch


def make_inputs(sizes, rng, variant):
    return {"x": torch.randn(sizes["N"], generator=rng), "y": torch.randn(sizes["N"], generator=rng), "factor": 0.5}


def reference(x, y, factor):
    return torch.add(x, y, alpha=factor)
"""
CPP = """\
extern "C" int scaled_add(const float* x, const float* y, double factor, float* out, int64_t N) {
    for (int64_t i = 0; i < N; ++i) out[i] = x[i] + (float)factor * y[i];
    return 0;
}
"""
CUDA = """\
extern "C" __global__ void scaled_add(const float* x, const float* y, float factor, float* out, long long N) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < N) out[i] = x[i] + factor * y[i];
}
"""
PLAN = """\
[[launch]]
kernel = "scaled_add"
grid = ["(N+255)/256 + 1", "1", "1"]
block = ["256", "1", "1"]
args = ["x", "y", "factor", "out", "N"]
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or made_package(Path(temporary) / "package", cuda=not options.cpu)
        print(json.dumps(measured(folder.resolve()), indent=1))


def made_package(folder: Path, *, cuda: bool) -> Path:
    cuda = cuda and torch.cuda.is_available()
    kernel = {"kernel.cu": CUDA, "launch.toml": PLAN} if cuda else {"k.cpp": CPP}
    task = Task(
        name="scaled_add", entry="scaled_add", platform="cuda" if cuda else "cpu", axes=(Axis(name="N", high=2**30),),
        inputs=(TensorSpec(name="x", dtype="float32", dims=("N",)), TensorSpec(name="y", dtype="float32", dims=("N",)),
                TensorSpec(name="factor", dtype="float32")),
        outputs=(TensorSpec(name="out", dtype="float32", dims=("N",)),), rule=Rule(kind="scaled", rtol=1e-6),
        shapes=ShapeSets(shown=({"N": 64},)), files=(SourceFile(path="reference.py", text=REFERENCE),),
    )  # fmt: skip
    export_package([record(task, kernel, where) for where in ("N<=1024", "")], folder)
    return folder


def record(task: Task, kernel: dict[str, str], where: str) -> Record:
    part = narrowed(task, Where.parse(where))
    files = tuple(SourceFile(path=path, text=text) for path, text in kernel.items())
    language = "cuda" if task.platform == "cuda" else "cpp"
    candidate = Candidate(language=language, files=files, origin=Origin(proposer="benchmark"))
    verdict = Verdict(
        task_id=part.content_id, candidate_id=candidate.id, outcome=Outcome.CORRECT, stage=Stage.CHECK, n_checks=1
    )
    facts = PlatformFacts(name=task.platform, kind=task.platform, n_cores=1)
    return fold(
        f"benchmark-{where or 'any'}",
        [
            Opened(task=part, settings=Settings(), facts=facts, time="2026-01-01T00:00:00+00:00"),
            Proposed(step=1, move=Move(operator=Operator.DRAFT), candidate=candidate, elapsed_s=0.0),
            Judged(step=1, verdict=verdict, elapsed_s=0.0),
            Closed(winner=1, reason="written by hand", elapsed_s=0.0),
        ],
    )


def measured(folder: Path) -> dict[str, Any]:
    sys.path.insert(0, str(folder))
    name = next(path.stem.removeprefix("test_") for path in folder.glob("test_*.py"))
    module, test = importlib.import_module(name), importlib.import_module(f"test_{name}")
    shape, _, inputs = test.first_drawn()
    free = {axis: shape[axis] for axis in test.PLAN["free"]}
    values, axes = tuple(inputs.values()), tuple(free.values())
    function, operator = getattr(module, name), module.OPERATOR
    gpu = module.SPEC["device"] == "cuda"
    function(*values, **free)
    served = module.last_path(), module.last_served()
    compiled = torch.compile(function, fullgraph=True)
    compiled(*values, **free)
    calls: dict[str, Callable[[], Any]] = {
        "package": lambda: function(*values, **free),
        "package_by_torch_ops": lambda: operator.traced(*values, **free),
        "package_in_torch_compile": lambda: compiled(*values, **free),
        "reference_eager": lambda: operator.by_reference(values, axes),
    }
    if operator._vendor is not None:
        calls[f"fallback_{module.SPEC['fallback']}"] = lambda: operator._vendor(values, axes)
    found = {f"{label}_host_us": host_us(call, gpu) for label, call in calls.items()}
    probe = operator._probe
    found["of_which_the_key_host_us"] = host_us(lambda: probe(values), False)
    if gpu:
        other = next((label for label in calls if label.startswith("fallback_")), "reference_eager")
        found |= {f"{label}_graph_us": graph_us(calls[label]) for label in ("package", other)}
    device = torch.cuda.get_device_name() if gpu else "cpu"
    return {"operator": name, "shape": shape, "served": served, "device": device, "torch": torch.__version__, **found}


def host_us(call: Callable[[], Any], gpu: bool) -> float:
    samples = []
    for _ in range(SAMPLES):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        samples.append((time.perf_counter() - start) / CALLS * 1e6)
        if gpu:
            torch.cuda.synchronize()
    return round(statistics.median(samples), 3)


def graph_us(call: Callable[[], Any]) -> float:
    """Device time of one call inside a CUDA graph of many."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    samples = []
    for _ in range(SAMPLES):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        graph.replay()
        after.record()
        torch.cuda.synchronize()
        samples.append(before.elapsed_time(after) / CALLS * 1e3)
    return round(statistics.median(samples), 3)


if __name__ == "__main__":
    main()
