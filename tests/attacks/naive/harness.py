"""The naive side: candidate, reference, inputs, expected answers, clock and statistics share one interpreter.

Nothing here is a straw man: each habit is one that public harnesses have or had. It loads the task, computes the
expected answer, calls the candidate once to check it, then times it on the same tensors and prints the result, which
`score.py` reads. Run by `score.py` as: harness.py TASK_FOLDER CANDIDATE OPTIONS_JSON
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
import pickle
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelevolve.model.task import FLOAT_DTYPES, Task, evaluate_dim
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.abi import is_scalar

N_TIMED = 15
SEED = 42


def load_module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_library(path: Path, task: Task) -> Callable[..., Callable[[], Any]]:
    """A shared library built like the judge builds it, called through ctypes in this process: arguments -> a call."""
    entry = ctypes.CDLL(str(path)).ke_call
    entry.restype = ctypes.c_int

    def prepare(*arguments: Any) -> Callable[[], Any]:
        specs = [*task.inputs, *task.outputs]
        pointers, integers, reals = [], [], []
        for spec, value in zip(specs, arguments, strict=False):
            if is_scalar(spec) and spec in task.inputs:
                (reals if spec.dtype in FLOAT_DTYPES else integers).append(value)
            else:
                pointers.append(value.data_ptr())
        integers += arguments[len(specs) :]
        packed = (
            (ctypes.c_void_p * (len(pointers) + 1))(*pointers),
            (ctypes.c_int64 * (len(integers) + 1))(*integers),
            (ctypes.c_double * (len(reals) + 1))(*reals),
        )
        return lambda: entry(*packed)

    return prepare


def get_inputs(module: ModuleType, shape: dict[str, int], options: dict[str, Any]) -> dict[str, Any]:
    """The public seed, the nominal distribution, one draw: the one it is checked on is the one it is timed on."""
    made: dict[str, Any] = module.make_inputs(
        dict(shape), torch.Generator().manual_seed(options.get("seed", SEED)), options.get("variant", "nominal")
    )
    return made


def bound_axes(task: Task, shape: dict[str, int], inputs: dict[str, Any]) -> dict[str, int]:
    sizes = dict(shape)
    for spec in task.inputs:
        for dim, size in zip(spec.dims, getattr(inputs[spec.name], "shape", ()), strict=False):
            if dim.isidentifier():
                sizes.setdefault(dim, int(size))
    return sizes | {spec.pitch: inputs[spec.name].stride(0) for spec in task.pitched}


def check(outputs: list[Any], expected: list[Any], atol: float, rtol: float, metric: str = "every") -> bool:
    """`not any(error > tolerance)`: NaN compares false, so NaN passes. Metric "mean": only the average counts."""
    for output, wanted in zip(outputs, expected, strict=True):
        error = (output.double() - wanted.double()).abs()
        error = error.mean() if metric == "mean" else error
        if bool((error > atol + rtol * wanted.double().abs()).any()):
            return False
    return True


def received(returned: Any, outputs: list[Any], options: dict[str, Any]) -> list[Any]:
    """A returned tensor is taken for the output, whatever kind it is."""
    if options.get("pickled"):  # as if it had come from a worker process
        returned = pickle.loads(pickle.dumps(returned))
    if isinstance(returned, torch.Tensor):
        return [returned]
    return list(returned) if isinstance(returned, list | tuple) else outputs


def time_calls(call: Callable[[], Any], n_calls: int, *, errors_count: bool = False) -> list[float]:
    times = []
    for _ in range(n_calls):
        started = time.perf_counter()
        try:
            call()
        except Exception:
            if not errors_count:
                raise
        times.append(time.perf_counter() - started)
    return times


def calculate_stats(times: list[float]) -> float:
    return statistics.mean(times)


def emit(result: dict[str, Any]) -> None:
    """The result channel: a line on stdout and, where there is one, the descriptor that the scorer reads."""
    text = "RESULT " + json.dumps(result)
    print(text, flush=True)
    if "SCORE_FD" in os.environ:
        os.write(int(os.environ["SCORE_FD"]), (text + "\n").encode())


def main() -> None:
    task_folder, candidate, options = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    torch.manual_seed(SEED)
    random.seed(SEED)
    task = load_task(str(task_folder), platform="cpu")
    shape = (task.shapes.search or task.shapes.shown)[0]
    module = load_module(task_folder / "reference.py", "reference")
    atol, rtol = options.get("atol", 1e-2), options.get("rtol", 1e-2)

    if options.get("load") == "early":  # the candidate is imported before the inputs are drawn
        load_module(candidate, "candidate")
    inputs = get_inputs(module, shape, options)
    sizes = bound_axes(task, shape, inputs)
    wanted_axes = {axis.name for axis in task.axes}
    names = module.reference.__code__.co_varnames[: module.reference.__code__.co_argcount]
    keywords = {name: sizes[name] for name in names if name in sizes and name in wanted_axes}

    def run_reference() -> list[Any]:
        result = module.reference(**inputs, **keywords)
        results = [] if result is None else list(result) if isinstance(result, tuple | list) else [result]
        return [inputs[spec.name] for spec in task.inputs if spec.in_place] + results

    def load() -> Callable[..., Callable[[], Any]]:
        if candidate.suffix == ".so":
            return load_library(candidate, task)
        function = getattr(load_module(candidate, "candidate"), task.entry)
        return lambda *arguments: lambda: function(*arguments)

    reference_first = options.get("order", "reference_first") == "reference_first"
    entry = None if options.get("load") == "late" else load()
    expected, recycled = list[Any](), list[Any]()
    if reference_first:
        saved = {k: v.clone() for k, v in inputs.items() if isinstance(v, torch.Tensor)}
        result = run_reference()
        expected = [value.clone() for value in result]
        for spec in task.outputs:  # data-dependent sizes are read off the reference's answer
            tensor = expected[len(expected) - len(task.outputs) + task.outputs.index(spec)]
            for dim, size in zip(spec.dims, tensor.shape, strict=True):
                if dim.isidentifier():
                    sizes.setdefault(dim, int(size))
        # Its memory goes back to the allocator with the right answer in it; "recycle": to a caching allocator's pool.
        recycled, result = (result[-len(task.outputs) :] if options.get("recycle") else []), []
        for name, value in saved.items():
            if any(spec.in_place and spec.name == name for spec in task.inputs):
                inputs[name].copy_(value)
    entry = entry or load()
    outputs = recycled or [
        torch.empty([evaluate_dim(dim, sizes) for dim in spec.dims], dtype=getattr(torch, spec.dtype))
        for spec in task.outputs
    ]
    axes = [sizes[axis.name] for axis in task.axes]
    arguments = [inputs[spec.name] for spec in task.inputs] + outputs + axes

    call_candidate = entry(*arguments)
    returned = call_candidate()
    outputs = received(returned, outputs, options)
    produced = [inputs[spec.name] for spec in task.inputs if spec.in_place] + outputs
    if not reference_first:
        expected = run_reference()  # on the very tensors that the candidate could touch
    if options.get("look_late"):  # a synchronisation outside the timed region
        time.sleep(0.05)
    correct = check(produced, expected, atol, rtol, options.get("metric", "every"))
    gc.collect()
    candidate_s = calculate_stats(time_calls(call_candidate, N_TIMED, errors_count=bool(options.get("errors_count"))))
    baseline_s = calculate_stats(time_calls(run_reference, N_TIMED))  # after the candidate, in the same process
    emit({"correct": bool(correct), "candidate_us": candidate_s * 1e6, "speedup": baseline_s / max(candidate_s, 1e-12)})


if __name__ == "__main__":
    with torch.no_grad():
        main()
