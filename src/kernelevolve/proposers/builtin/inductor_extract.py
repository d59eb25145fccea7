"""A child process: asks Inductor for the C++ of a task's reference and writes it down. Nothing of it is compiled.

Run as `python -m kernelevolve.proposers.builtin.inductor_extract FOLDER`. `FOLDER/request.json` is
{"task": {...}, "n_threads": n}. Writes `FOLDER/answer.json`, either {"error": one line} or
    codes    "vec": the module Inductor writes; "auto": the same without explicit vectors
    sources  for each of the two: the reference's argument behind each graph input
    axes     the axes that the reference takes as arguments
    hidden   dtype and sizes of other tensors it takes, such as a module's counters
    isa      what the vectors are made for
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any


class _Captured(Exception):
    """Inductor has written its code: stop before it compiles it."""


def main(folder: Path) -> None:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    request = json.loads((folder / "request.json").read_text())
    try:
        answer = _extract(request, folder)
    except Exception as error:  # noqa: BLE001 - the border of the child: foreign code and a compiler run in here
        text = str(error).strip().splitlines() or [""]
        answer = {"error": f"{type(error).__name__}: {text[0][:300]}"}
    (folder / "answer.json").write_text(json.dumps(answer))


def _extract(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    import torch
    from torch._inductor import config
    from torch._inductor.cpu_vec_isa import pick_vec_isa
    from torch._inductor.exc import InductorError
    from torch.fx.experimental import _config as symbolic

    from kernelevolve.evaluation.task_module import TaskModule
    from kernelevolve.model.task import Task

    task = Task.model_validate(request["task"])
    torch.set_num_threads(request["n_threads"])
    torch.backends.mkldnn.enabled = False  # its kernels live in libraries, not in source
    config.force_disable_caches = True
    config.layout_optimization = False
    symbolic.use_duck_shape = False  # axes of one size in the example need not be one axis
    module = TaskModule(task, folder / "files")
    inputs = module.make_inputs(task.shapes.shown[0], seed=0)
    _mark_fixed(task, inputs)
    axes = module.sizes_for(module.reference, task.shapes.shown[0])
    isa = str(pick_vec_isa())
    codes, sources = {}, {}
    hidden: dict[str, Any] = {}
    for name, simdlen in (("vec", None), ("auto", 1)):
        if name == "vec" and not isa.startswith(("avx512", "avx2")):
            continue
        with config.patch({"cpp.simdlen": simdlen}):
            try:
                codes[name], sources[name] = _capture(module.reference, inputs | axes, hidden)
            except InductorError:  # some faults lie in fusing loops
                with config.patch({"max_fusion_size": 1}):
                    codes[name], sources[name] = _capture(module.reference, inputs | axes, hidden)
    return {"codes": codes, "sources": sources, "axes": list(axes), "hidden": hidden, "isa": isa}


def _mark_fixed(task: Any, inputs: dict[str, Any]) -> None:
    """Sizes that can only be one number may be built into the code; all others must stay symbols."""
    import torch

    from kernelevolve.model.task import dim_axes

    free = {axis.name for axis in task.axes if axis.role != "shape" or axis.low != axis.high}
    for spec in task.inputs:
        if isinstance(inputs[spec.name], torch.Tensor):
            for index, dim in enumerate(spec.dims):
                if not dim_axes(dim) & free:
                    torch._dynamo.mark_static(inputs[spec.name], index)


def _capture(reference: Any, arguments: dict[str, Any], hidden: dict[str, Any]) -> tuple[str, list[str]]:
    import torch
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.graph import GraphLowering

    codes: list[str] = []
    sources: list[str] = []

    def save(code: str) -> None:
        codes.append(code)
        raise _Captured

    def backend(graph: Any, example_inputs: Any) -> Any:
        sources.clear()  # the tracer may start again with other assumptions
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                source = node.meta["grapharg"].source
                name = source.name() if callable(source.name) else source.name
                sources.append(_argument(name))
                value = node.meta.get("example_value")
                if not name.startswith("L[") and isinstance(value, torch.Tensor):
                    sizes = [int(size) for size in value.shape if isinstance(size, int)]
                    hidden[name] = {"dtype": str(value.dtype).removeprefix("torch."), "sizes": sizes}
        return compile_fx(graph, example_inputs, decompositions=_decompositions())

    GraphLowering.save_output_code = staticmethod(save)  # the hook torch's own tests use
    torch._dynamo.reset()
    compiled = torch.compile(reference, backend=backend, dynamic=True, fullgraph=True)
    try:
        with torch.no_grad():
            compiled(**arguments)
    except Exception:  # noqa: BLE001 - wrapped in whatever the compiler makes of it
        if not codes:
            raise
    if not codes:
        raise RuntimeError("the reference does no tensor work that Inductor compiles")
    return codes[0], sources


def _argument(source: str) -> str:
    """ "L['x'].size()[0]" -> "x"; the expression itself when it is not an argument of the reference."""
    match = re.match(r"^L\['(\w+)'\](\.size\(\)\[(\d+)\])?$", source)
    return f"{match[1]}:{match[3]}" if match and match[3] else match[1] if match else source


def _decompositions() -> dict[Any, Any]:
    """Attention as matrix products, and convolution as one opaque operator that keeps sizes symbolic."""
    import torch
    from torch._decomp import get_decompositions
    from torch._inductor.decomposition import select_decomp_table

    aten = torch.ops.aten
    table = dict(select_decomp_table())
    table.update(get_decompositions([aten._scaled_dot_product_flash_attention_for_cpu]))
    convolution = _convolution_operator()

    def decomposed(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                   output_padding: Any, groups: int) -> Any:  # fmt: skip
        n = weight.dim() - 2
        full = [list(value) * (n if len(value) == 1 else 1) for value in (stride, padding, dilation, output_padding)]
        return convolution(x, weight, bias, *full[:3], transposed, full[3], groups)

    table[aten.convolution.default] = decomposed
    return table


def _convolution_operator() -> Any:
    import torch

    if hasattr(torch.ops.kernelevolve, "convolution"):
        return torch.ops.kernelevolve.convolution
    library = torch.library.Library("kernelevolve", "DEF")
    library.define(
        "convolution(Tensor x, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
        "bool transposed, int[] output_padding, int groups) -> Tensor"
    )

    def shape(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
              output_padding: Any, groups: int) -> Any:  # fmt: skip
        sizes = [x.shape[0], weight.shape[1] * groups if transposed else weight.shape[0]]
        for n in range(weight.dim() - 2):
            reach = dilation[n] * (weight.shape[n + 2] - 1)
            if transposed:
                sizes.append((x.shape[n + 2] - 1) * stride[n] - 2 * padding[n] + reach + output_padding[n] + 1)
            else:
                room = x.shape[n + 2] + 2 * padding[n] - reach - 1
                sizes.append((room if stride[n] == 1 else room // stride[n]) + 1)
        return x.new_empty(sizes)

    library.impl("convolution", shape, "Meta")
    _KEPT.append(library)
    return torch.ops.kernelevolve.convolution


_KEPT: list[Any] = []
"""A torch Library takes its operators away when it is collected."""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
