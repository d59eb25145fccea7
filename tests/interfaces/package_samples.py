"""Finished campaigns to export: one operator on the CPU, one on a GPU, each with an input of every kind."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from made_up_campaign import FACTS

from kernelevolve.interfaces.record import Record, fold
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Closed, Judged, Opened, Proposed, Settings
from kernelevolve.model.paths import Where, narrowed
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Axis, Rule, Shape, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.model.verdict import Comparison, Outcome, ShapeTiming, Stage, Timing, Verdict

REFERENCE = """\
import torch

VARIANTS = ("nominal", "tiny")


def make_inputs(sizes, rng, variant):
    scale = 1e-3 if variant == "tiny" else 1.0
    x = torch.randn(sizes["R"], sizes["C"], generator=rng) * scale
    return {"x": x, "state": torch.randn(sizes["R"], generator=rng), "shift": 3, "factor": 0.5}


def reference(x, state, shift, factor):
    total = x.sum(1)
    state.add_(total)
    return x * factor + shift + total.unsqueeze(1)
"""
TASK = Task(
    name="row_mix",
    summary="every element scaled, plus its row's sum, which is added to a state as well",
    entry="row_mix",
    axes=(Axis(name="R", low=0, high=4096), Axis(name="C", low=1, high=1024)),
    inputs=(
        TensorSpec(name="x", dtype="float32", dims=("R", "C")),
        TensorSpec(name="state", dtype="float32", dims=("R",), in_place=True),
        TensorSpec(name="shift", dtype="int64"),
        TensorSpec(name="factor", dtype="float32"),
    ),
    outputs=(TensorSpec(name="out", dtype="float32", dims=("R", "C")),),
    rule=Rule(kind="scaled", rtol=1e-5, rms=1e-4),
    shapes=ShapeSets(
        shown=({"R": 8, "C": 100}, {"R": 300, "C": 64}, {"R": 20, "C": 64}),
        sealed=({"R": 40, "C": 64}, {"R": 8, "C": 7}),
    ),
    files=(SourceFile(path="reference.py", text=REFERENCE),),
)
CPP = """\
// variant: {mark}
extern "C" int row_mix(const float* x, float* state, int64_t shift, double factor, float* out, int64_t R, int64_t C) {{
    for (int64_t r = 0; r < R; ++r) {{
        double total = 0;
        for (int64_t c = 0; c < C; ++c) total += x[r * C + c];
        state[r] += (float)total;
        for (int64_t c = 0; c < C; ++c) out[r * C + c] = x[r * C + c] * (float)factor + (float)shift + (float)total;
    }}
    return 0;
}}
"""
PITCHED_TASK = TASK.model_copy(
    update={
        "axes": (*TASK.axes, Axis(name="XP", role="pitch", high=4096, multiple_of=4), Axis(name="SP", role="pitch")),
        "inputs": (TASK.inputs[0].model_copy(update={"pitch": "XP"}), TASK.inputs[1].model_copy(update={"pitch": "SP"}),
                   *TASK.inputs[2:]),
    }
)  # fmt: skip
PITCHED_CPP = """\
// variant: {mark}
extern "C" int row_mix(const float* x, float* state, int64_t shift, double factor, float* out, int64_t R, int64_t C,
                       int64_t XP, int64_t SP) {{
    for (int64_t r = 0; r < R; ++r) {{
        double total = 0;
        for (int64_t c = 0; c < C; ++c) total += x[r * XP + c];
        state[r * SP] += (float)total;
        for (int64_t c = 0; c < C; ++c) out[r * C + c] = x[r * XP + c] * (float)factor + (float)shift + (float)total;
    }}
    return 0;
}}
"""
CUDA = """\
// variant: {mark}
extern "C" __global__ void row_sums(const float* x, float* partial, long long R, int C) {{
    long long r = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (r >= R) return;
    double total = 0;
    for (int c = 0; c < C; ++c) total += x[r * C + c];
    partial[r] = (float)total;
}}
extern "C" __global__ void finish(const float* x, const float* partial, float* state, float* out, long long shift,
                                  float factor, long long R, int C) {{
    long long r = blockIdx.x;
    if (r >= R) return;
    if (threadIdx.x == 0) state[r] += partial[r];
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        out[r * C + c] = x[r * C + c] * factor + (float)shift + partial[r];
}}
"""
PLAN = """\
[[launch]]
kernel = "row_sums"
grid = ["(R+WIDTH-1)/WIDTH + 1", "1", "1"]
block = ["WIDTH", "1", "1"]
args = ["x", "partial", "R", "C"]
[[launch]]
kernel = "finish"
grid = ["R + 1", "1", "1"]
block = ["64", "1", "1"]
args = ["x", "partial", "state", "out", "shift", "factor", "R", "C"]
[[scratch]]
name = "unused"
bytes = "3"
[[scratch]]
name = "partial"
bytes = "4*R + 4"
[[constant]]
name = "WIDTH"
value = 128
"""
GPU_FACTS = PlatformFacts(name="cuda", kind="cuda", model="Imaginary GPU", n_cores=100, isa=("sm_90",))


def campaign(
    where: str = "", *, cuda: bool = False, slower: tuple[Shape, ...] = (), name: str = "", task: Task = TASK,
    cpp: str = CPP, python: dict[str, str] | None = None,
) -> Record:  # fmt: skip
    """A campaign for a part of the domain; its winner was measured on the shapes of that part, and on `slower` lost
    to the reference."""
    whole = task.model_copy(update={"platform": "cuda" if cuda else "cpu"})
    part = narrowed(whole, Where.parse(where))
    mark = where or "any"
    texts = {"kernel.cu": CUDA.format(mark=mark), "launch.toml": PLAN} if cuda else {"k.cpp": cpp.format(mark=mark)}
    texts = python or texts
    candidate = Candidate(
        language="python" if python else "cuda" if cuda else "cpp",
        files=tuple(SourceFile(path=path, text=text) for path, text in texts.items()),
        origin=Origin(proposer="test"),
    )
    verdict = Verdict(
        task_id=part.content_id, candidate_id=candidate.id, outcome=Outcome.CORRECT, stage=Stage.MEASURE, n_checks=9,
        timing=_timing((*part.shapes.shown, *part.shapes.sealed), slower),
    )  # fmt: skip
    facts = GPU_FACTS if cuda else FACTS
    return fold(
        name or f"c-{mark}",
        [
            Opened(task=part, settings=Settings(), facts=facts, time="2026-01-02T03:04:05+00:00"),
            Proposed(step=1, move=Move(operator=Operator.DRAFT), candidate=candidate, elapsed_s=1.0),
            Judged(step=1, verdict=verdict, elapsed_s=2.0),
            Closed(winner=1, reason="done", elapsed_s=3.0),
        ],
    )


def _timing(shapes: tuple[Shape, ...], slower: tuple[Shape, ...]) -> Timing:
    rows = []
    for shape in shapes:
        speedup = 0.5 if shape in slower else 2.0
        one = Comparison(
            baseline="eager", baseline_us=10.0 * speedup, candidate_us=10.0, speedup=speedup, low=speedup * 0.9,
            high=speedup * 1.1, log_ratios=(0.0,),
        )  # fmt: skip
        rows.append(ShapeTiming(shape=shape, latency_us=10.0, bytes_moved=1, comparisons=(one,)))
    return Timing(level="screen", shapes=tuple(rows), speedup=2.0, low=1.8, high=2.2)


def imported(folder: Path, name: str = "row_mix") -> ModuleType:
    """The package's module under a name of its own, as two packages of one operator may be in one process."""
    own = f"{name}_of_{folder.name}_{abs(hash(folder))}"
    spec = importlib.util.spec_from_file_location(own, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[own] = module
    spec.loader.exec_module(module)
    return module
