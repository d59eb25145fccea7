"""Exported folders: they work where kernelevolve cannot be imported, and say which path served a call."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from made_up_campaign import FACTS, correct, record

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.export.spec import free_axes
from kernelevolve.interfaces.export.write import export_kernel
from kernelevolve.interfaces.record import Record, fold
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Closed, Judged, Opened, Proposed, Settings
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.tasks import load_task

# One input of each kind: a size that has to be solved for (N + 1), an in-place tensor, both scalars, and an axis (K)
# that no input tells.
REFERENCE = """\
import torch

VARIANTS = ("nominal", "tiny")


def make_inputs(sizes, rng, variant):
    n = sizes["N"]
    x = torch.randn(n + 1, generator=rng) * (1e-3 if variant == "tiny" else 1.0)
    return {"x": x, "total": torch.randn(n, generator=rng), "shift": 3, "factor": 0.5}


def reference(x, total, shift, factor, K):
    total.add_(x[1:] - x[:-1])
    return (total[:, None] * factor + shift + torch.arange(K, dtype=x.dtype)).contiguous()
"""
KERNEL = """\
extern "C" int spread(const float* x, float* total, int64_t shift, double factor, float* out, int64_t N, int64_t K) {
    if (N == 13) return 7;
    for (int64_t i = 0; i < N; ++i) {
        total[i] += x[i + 1] - x[i];
        for (int64_t k = 0; k < K; ++k) out[i * K + k] = total[i] * (float)factor + (float)shift + (float)k;
    }
    return 0;
}
"""
TASK = Task(
    name="spread",
    summary='hostile """ text\nin \\ two lines',
    entry="spread",
    axes=(Axis(name="N", low=1, high=1000), Axis(name="K", high=64)),
    inputs=(
        TensorSpec(name="x", dtype="float32", dims=("N + 1",)),
        TensorSpec(name="total", dtype="float32", dims=("N",), in_place=True),
        TensorSpec(name="shift", dtype="int64"),
        TensorSpec(name="factor", dtype="float32"),
    ),
    outputs=(TensorSpec(name="out", dtype="float32", dims=("N", "K")),),
    rule=Rule(kind="scaled", rtol=1e-5, rms=1e-5),
    shapes=ShapeSets(shown=({"N": 100, "K": 3},)),
    files=(SourceFile(path="spread.py", text=REFERENCE),),
)

PROBE = """\
import sys
sys.modules["kernelevolve"] = None  # importing it now fails
import torch
import {name} as module
{body}
"""


def finished(task: Task, source: str, flags: tuple[str, ...] = ()) -> Record:
    candidate = Candidate(
        language="cpp", files=(SourceFile(path="k.cpp", text=source),), flags=flags, origin=Origin(proposer="test")
    )
    return fold(
        "c-1",
        [
            Opened(task=task, settings=Settings(), facts=FACTS, time="2026-01-02T03:04:05+00:00"),
            Proposed(step=1, move=Move(operator=Operator.DRAFT), candidate=candidate, elapsed_s=1.0),
            Judged(step=1, verdict=correct(candidate, "screen", 2.0), elapsed_s=2.0),
            Closed(winner=1, reason="done", elapsed_s=3.0),
        ],
    )


def run_python(folder: Path, *words: str, code: str = "") -> str:
    command = [sys.executable, *(["-c", code] if code else words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "spread"
    export_kernel(finished(TASK, KERNEL, flags=("-O2",)), folder)
    return folder


def test_the_folder_holds_everything_and_the_python_parses(exported: Path):
    names = {path.name for path in exported.iterdir()} - {".built", "__pycache__"}
    assert names == {
        "kernel.cpp", "ke_abi.h", "ke_shim.cpp", "spread.py", "test_spread.py", "reference.py", "runtime",
        "evidence.json", "README.md",
    }  # fmt: skip
    for path in exported.glob("*.py"):
        ast.parse(path.read_text())


def test_the_evidence_has_identities_raw_samples_machine_and_settings(exported: Path):
    evidence = json.loads((exported / "evidence.json").read_text())
    assert evidence["schema"] == "kernelevolve.evidence/1"
    assert evidence["task_id"] == TASK.content_id
    assert evidence["flags"] == ["-O2"]
    shapes = evidence["verdicts"]["search"]["timing"]["shapes"]
    assert all(comparison["log_ratios"] for shape in shapes for comparison in shape["comparisons"])
    assert {"machine", "settings", "kernelevolve", "candidate_id", "task"} <= set(evidence)


def test_its_own_check_passes_without_kernelevolve(exported: Path):
    code = PROBE.format(name="spread", body="import runpy; runpy.run_path('test_spread.py', run_name='__main__')")
    assert "right: the kernel equals the reference" in run_python(exported, code=code)


def test_what_the_kernel_does_not_take_is_served_by_the_reference_with_a_reason(exported: Path):
    body = """
x, total = torch.randn(5), torch.randn(4)
def path(*arguments, **axes):
    module.spread(*arguments, **axes)
    return module.last_path()
print(path(x, total, 3, 0.5, K=2))
print(path(x, total, 3, 0.5, K=65))
print(path(x.double(), total, 3, 0.5, K=2))
print(path(torch.randn(10)[::2], total, 3, 0.5, K=2))
print(path(x, torch.randn(8)[:4].clone().requires_grad_(False), 3, 0.5, K=2))
print(path(torch.randn(1002), torch.randn(1001), 3, 0.5, K=2))
print(path(torch.randn(6)[1:], total, 3, 0.5, K=2))
both = torch.zeros(64)
print(path(both[:5], both[:4], 3, 0.5, K=2))
try:
    module.spread(torch.randn(14), torch.randn(13), 3, 0.5, K=2)
except RuntimeError as error:
    print(error)
"""
    lines = run_python(exported, code=PROBE.format(name="spread", body=body)).splitlines()
    expected = (
        "kernel", "K=65 is outside the checked domain", "x is float64", "x is not contiguous", "kernel",
        "N=1001 is outside", "x is not aligned", "total and x share memory", "refused a shape of its domain",
    )  # fmt: skip
    assert len(lines) == len(expected)
    assert all(needle in line for needle, line in zip(expected, lines, strict=True)), lines


def test_without_a_compiler_the_reference_serves(exported: Path):
    body = """
import os
os.environ["CXX"] = "no-such-compiler"
module.spread(torch.randn(5), torch.randn(4), 3, 0.5, K=2)
print(module.last_path())
"""
    text = run_python(exported, code=PROBE.format(name="spread", body=body))
    assert text.startswith("reference: the kernel could not be built")


def test_axes_no_input_tells_are_asked_for_and_hints_have_a_default():
    assert free_axes(TASK) == {"K": None}
    assert free_axes(load_task("map_id")) == {}
    assert free_axes(load_task("jagged_to_padded_dense")) == {"L": None}
    hint = load_task("batch_event_truncate")
    assert free_axes(hint) == {"EV": hint.shapes.shown[0]["EV"]}
    assert free_axes(load_task("gated_delta_packed_decode")) == {}


TRUNCATE = """\
extern "C" int batch_event_truncate(const int64_t* outer, const int64_t* inner, const int64_t* values, int64_t limit,
                                    int64_t* outer_out, int64_t* inner_out, int64_t* values_out,
                                    int64_t U, int64_t F, int64_t EV, int64_t E, int64_t T, int64_t EO, int64_t TO) {
    (void)EV; (void)T; (void)TO;
    for (int64_t u = 0; u < U; ++u) outer_out[u] = outer[u] < limit ? outer[u] : limit;
    for (int64_t f = 0; f < F; ++f) {
        int64_t event = 0;
        for (int64_t u = 0; u < U; ++u)
            for (int64_t e = 0; e < outer[u]; ++e, ++event) {
                const int64_t n = inner[f * E + event];
                if (e < limit) {
                    *inner_out++ = n;
                    for (int64_t i = 0; i < n; ++i) *values_out++ = values[i];
                }
                values += n;
            }
    }
    (void)EO;
    return 0;
}
"""


def test_outputs_whose_size_depends_on_the_content(tmp_path: Path):
    export_kernel(finished(load_task("batch_event_truncate"), TRUNCATE), tmp_path / "out")
    code = PROBE.format(
        name="batch_event_truncate",
        body="import runpy; runpy.run_path('test_batch_event_truncate.py', run_name='__main__')",
    )
    assert "right" in run_python(tmp_path / "out", code=code)


def test_only_a_finished_winner_or_a_chosen_correct_step_is_exported(tmp_path: Path):
    with pytest.raises(UsageError, match="not finished"):
        export_kernel(record(20, close=False), tmp_path / "a")
    with pytest.raises(UsageError, match="the reference stays"):
        export_kernel(record(20, win=False), tmp_path / "a")
    found = record(40)
    wrong = next(step for step, row in found.rows.items() if row.status == "build_failed")
    with pytest.raises(UsageError, match="only correct kernels"):
        export_kernel(found, tmp_path / "a", step=wrong)
    right = next(step for step, row in found.rows.items() if row.correct)
    assert export_kernel(found, tmp_path / "a", step=right)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="not an earlier export"):
        export_kernel(found, tmp_path / "b", step=right)
