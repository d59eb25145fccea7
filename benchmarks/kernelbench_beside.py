"""KernelBench's own evaluation of the kernels that gpu_throughput.py judges: seconds for each, and how many an hour.

    KERNELBENCH=path/to/KernelBench python benchmarks/kernelbench_beside.py --out FILE [--n 3]
    (with `python benchmarks/gpu_throughput.py --task rms_norm` for our side)

Each kernel becomes a `ModelNew` by torch's load_inline, as KernelBench's own examples do it, and goes through
`eval_kernel_against_ref` with the numbers its scripts use: 5 trials of correctness, 100 of timing by events. Every one
runs in a process of its own, first with nothing built; the first one then again with its build kept, which is what
compiling ahead would leave. Needs nvcc, g++ and ninja. Modules that KernelBench imports at its top and an evaluation
never calls are replaced by empty ones where they are not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

SETTINGS = {"num_correct_trials": 5, "num_perf_trials": 100, "measure_performance": True, "timing_method": "cuda_event"}
"""The defaults of its scripts eval_from_generations.py and run_and_check.py."""
BUDGET_S, TIMEOUT_S = 150.0, 170.0
"""No further kernel is begun after the first; one may take the second."""
STAND_INS = {
    "dotenv": ("load_dotenv",), "tqdm": ("tqdm",), "openai": ("OpenAI",), "litellm": ("completion",), "requests": (),
}  # fmt: skip
REFERENCE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, weight):
        return F.rms_norm(x, weight.shape, weight, 1e-6)


def get_inputs():
    return [torch.randn({R}, {C}), torch.randn({C}) * 0.5 + 1.2]


def get_init_inputs():
    return []
"""
LAUNCHER = """
torch::Tensor launched(torch::Tensor x, torch::Tensor weight) {
    auto out = torch::empty_like(x);
    norm_rows<<<132 * BLOCKS_PER_SM, THREADS>>>(
        (const real*)x.data_ptr(), (const real*)weight.data_ptr(), (real*)out.data_ptr(), (int)x.size(0),
        (int)x.size(1));
    return out;
}
"""
MODEL_NEW = """
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

built = load_inline(
    name="norm_rows_{index}",
    cpp_sources="torch::Tensor launched(torch::Tensor x, torch::Tensor weight);",
    cuda_sources={source!r},
    functions=["launched"],
)


class ModelNew(nn.Module):
    def forward(self, x, weight):
        return built.launched(x, weight)
"""


def requests(n: int) -> list[dict[str, Any]]:
    """The first kernels of gpu_throughput.py, wrapped, at the shape that is screened there."""
    from gpu_throughput import TASKS, WARM_UP, make_task, variants

    task = make_task("rms_norm")
    shape = dict((task.shapes.search or task.shapes.shown)[0])
    made = []
    for index, candidate in enumerate(variants(task, TASKS["rms_norm"][1]["cuda"], n + WARM_UP)[WARM_UP:]):
        kernel = next(file.text for file in candidate.files if file.path.endswith(".cu"))
        source = "#include <torch/extension.h>\n" + kernel + LAUNCHER
        new = MODEL_NEW.format(index=index, source=source)
        made.append({"settings": candidate.origin.parameters, "reference": REFERENCE.format(**shape), "new": new})
    return made


def stand_in() -> list[str]:
    """Empty modules for what is missing; returns their names."""
    missing = [name for name in STAND_INS if importlib.util.find_spec(name) is None]
    for name in missing:
        module = types.ModuleType(name)
        for attribute in STAND_INS[name]:
            setattr(module, attribute, lambda *_args, **_named: None)
        sys.modules[name] = module
    return missing


def child(path: Path) -> None:
    started = time.monotonic()
    missing = stand_in()
    import torch
    from kernelbench import eval as kernelbench_eval

    torch.cuda.init()
    ready_s = time.monotonic() - started
    request = json.loads(path.read_text())
    result = kernelbench_eval.eval_kernel_against_ref(
        request["reference"], request["new"], **SETTINGS, backend="cuda", precision=torch.bfloat16
    )
    answer = {
        "start_s": ready_s, "eval_s": time.monotonic() - started - ready_s, "stand_ins": missing,
        "compiled": bool(result and result.compiled), "correct": bool(result and result.correctness),
        "runtime": result.runtime if result else None, "ref_runtime": result.ref_runtime if result else None,
        "metadata": str(result.metadata)[:600] if result else "nothing came back: a lock file",
    }  # fmt: skip
    path.with_suffix(".answer").write_text(json.dumps(answer))


def evaluated(request: dict[str, Any], name: str, folder: Path, source: Path) -> dict[str, Any]:
    """One kernel in a process of its own; `folder` keeps its build."""
    path = folder / "request.json"
    path.write_text(json.dumps(request))
    path.with_suffix(".answer").unlink(missing_ok=True)
    paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TORCH_EXTENSIONS_DIR": str(folder / "build")}
    started = time.monotonic()
    command = [sys.executable, str(Path(__file__)), "--child", str(path)]
    try:
        finished = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )  # fmt: skip
        tail = (finished.stdout + finished.stderr)[-1500:]
    except subprocess.TimeoutExpired:
        tail = f"no end within {TIMEOUT_S:.0f} s"
    wall_s = time.monotonic() - started
    done = path.with_suffix(".answer")
    answer = json.loads(done.read_text()) if done.exists() else {"compiled": False, "correct": False}
    found = {"name": name, "settings": request["settings"], "wall_s": round(wall_s, 2), **answer}
    if not answer["correct"]:
        found["tail"] = tail
    sys.stderr.write(f"{name}: {wall_s:.1f} s, {'correct' if answer['correct'] else 'NOT correct'}\n")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--n", type=int, default=3)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    root = Path(os.environ.get("KERNELBENCH", ""))
    source = root / "src" if (root / "src" / "kernelbench").is_dir() else root
    if not os.environ.get("KERNELBENCH") or not (source / "kernelbench" / "eval.py").exists():
        print("skipped: set KERNELBENCH to a checkout of ScalingIntelligence/KernelBench (its src/kernelbench is used)")
        return 0
    if options.out is None:
        parser.error("--out is missing")
    started = time.monotonic()
    cold: list[dict[str, Any]] = []
    warm: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="ke-kernelbench-") as name:
        for index, request in enumerate(requests(options.n)):
            if cold and time.monotonic() - started + cold[-1]["wall_s"] > BUDGET_S:
                sys.stderr.write(f"no time for more than {index} kernels\n")
                break
            folder = Path(name) / str(index)
            folder.mkdir()
            cold.append(evaluated(request, f"kernel {index}, nothing built", folder, source))
            if index == 0:
                warm.append(evaluated(request, "kernel 0 again, its build kept", folder, source))
    record = {**summary(cold, warm), "settings": SETTINGS, "cold": cold, "warm": warm}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    print(
        f"KernelBench: {record['seconds_each']} s a kernel, {record['per_hour']} an hour one after the other; "
        f"with the build kept {record['seconds_built']} s, {record['per_hour_built']} an hour"
    )
    return 0 if all(item["correct"] for item in [*cold, *warm]) else 1


def summary(cold: list[dict[str, Any]], warm: list[dict[str, Any]]) -> dict[str, Any]:
    each = statistics.median(item["wall_s"] for item in cold)
    built = statistics.median(item["wall_s"] for item in warm)
    return {
        "n": len(cold), "n_correct": sum(item["correct"] for item in cold), "cores": os.cpu_count(),
        "seconds_each": round(each, 2), "per_hour": round(3600 / each),
        "seconds_built": round(built, 2), "per_hour_built": round(3600 / built),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
