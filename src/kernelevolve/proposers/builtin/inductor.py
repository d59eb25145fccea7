"""Inductor's C++ kernels as an arm: extracted once per task in a child process, then tuned like a recipe."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from kernelevolve.errors import ProposerError, RecordError
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.value import Value, canonical_json, sha256_text
from kernelevolve.proposers.builtin.arm import Arm, Written, defines, thread_knobs
from kernelevolve.proposers.builtin.flags import flag_knobs
from kernelevolve.proposers.builtin.recipe import Knob
from kernelevolve.proposers.builtin.translate import Translation
from kernelevolve.proposers.builtin.wrapper import kernel_text, parse_wrapper
from kernelevolve.toolchains.abi import prototype
from kernelevolve.toolchains.cpp import TORCH_INCLUDE
from kernelevolve.toolchains.process import run_tool

INDUCTOR = "inductor"
VERSION = 1
"""Of the extraction; part of the cache key."""
TIMEOUT_S = 180.0
RUNTIME = Path(__file__).parent / "runtime"
SCHEDULES = {
    "default": "",
    "dynamic": "schedule(dynamic, 1)",
    "dynamic16": "schedule(dynamic, 16)",
    "guided": "schedule(guided)",
}
GEMM_KNOBS = (
    Knob(name="MR", values=("6", "4", "8", "12")),
    Knob(name="KC", values=("256", "128", "512")),
    Knob(name="NC", values=("256", "128", "512")),
)


class Hidden(Value):
    dtype: str
    sizes: tuple[int, ...]


class Extraction(Value):
    """What the child found: Inductor's module with explicit vectors ("vec") and without ("auto")."""

    codes: dict[str, str] = Field(default={})
    sources: dict[str, tuple[str, ...]] = Field(default={}, description="the argument behind each graph input")
    axes: tuple[str, ...] = Field(default=(), description="axes that the reference takes as arguments")
    hidden: dict[str, Hidden] = Field(default={}, description="tensors the reference keeps for itself")
    isa: str = ""
    error: str = ""


class InductorSource:
    """Asks once per task and keeps the answer, in memory and under `cache`."""

    def __init__(self, *, cache: Path) -> None:
        self._cache = cache / "inductor_source"
        self._arms: dict[str, Arm | ProposerError] = {}

    def arm(self, task: Task, facts: PlatformFacts) -> Arm:
        """Raises ProposerError with the reason when the task's kernels cannot be taken over."""
        key = sha256_text(canonical_json([VERSION, task.content_id, facts.n_cores, facts.isa, _torch_version()]))
        if key not in self._arms:
            try:
                self._arms[key] = inductor_arm(task, facts, self._extract(key, task, facts))
            except ProposerError as error:
                self._arms[key] = error
        found = self._arms[key]
        if isinstance(found, ProposerError):
            raise found
        return found

    def _extract(self, key: str, task: Task, facts: PlatformFacts) -> Extraction:
        if data_dependent := [axis.name for axis in task.axes if axis.role == "output"]:
            raise ProposerError(f"Inductor's kernels cannot size an output by its data (axis {data_dependent[0]})")
        if task.pitched:
            raise ProposerError(f"Inductor's kernels take rows back to back (input {task.pitched[0].name} has a pitch)")
        kept = self._cache / f"{key}.json"
        if kept.exists():
            try:
                return Extraction.from_json(kept.read_text())
            except RecordError:
                kept.unlink()  # damaged: ask again
        extraction = extract(task, n_threads=facts.n_cores)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as handle:
            handle.write(extraction.to_json())
        Path(handle.name).replace(kept)
        return extraction


def extract(task: Task, *, n_threads: int, timeout_s: float = TIMEOUT_S) -> Extraction:
    """Run the child. Raises ProposerError when it dies or takes too long; what the task does wrong is in `error`."""
    if _torch_version() == "":
        raise ProposerError("Inductor needs PyTorch: pip install 'kernelevolve[cpu]'")
    with tempfile.TemporaryDirectory(prefix="ke-inductor-") as name:
        folder = Path(name)
        (folder / "request.json").write_text(json.dumps({"task": task.model_dump(mode="json"), "n_threads": n_threads}))
        command = [sys.executable, "-m", "kernelevolve.proposers.builtin.inductor_extract", str(folder)]
        finished = run_tool(command, folder=folder, timeout_s=timeout_s)
        answer = folder / "answer.json"
        if finished.timed_out or not answer.exists():
            reason = (
                f"took longer than {timeout_s:.0f} s" if finished.timed_out else f"ended with {finished.returncode}"
            )
            raise ProposerError(f"asking Inductor {reason}: {finished.text.strip()[-200:]}")
        return Extraction.from_json(answer.read_text())


def inductor_arm(task: Task, facts: PlatformFacts, extraction: Extraction) -> Arm:
    """Raises ProposerError when the wrapper has something that cannot be translated."""
    if extraction.error:
        raise ProposerError(f"Inductor cannot compile the reference: {extraction.error}")
    bodies, reasons = {}, []
    for name in extraction.codes:
        try:
            bodies[name] = _body(task, name, extraction)
        except ProposerError as error:
            reasons.append(error)
    if not bodies:
        raise reasons[0]
    text = "\n".join(bodies.values())
    rounding = task.rule.kind == "scaled"
    knobs = [Knob(name="SIMD", values=tuple(bodies))]
    if rounding and ".exp()" in bodies.get("vec", ""):
        knobs.append(Knob(name="EXP", values=("library", "short")))
    if "KE_SCHEDULE" in text:
        knobs.append(Knob(name="SCHEDULE", values=tuple(SCHEDULES)))
        knobs.append(Knob(name="GRAIN", values=("0", "16384", "131072")))
    gemm = GEMM_KNOBS if "ke::matmul" in text or "ke::convolution" in text else ()

    def write(settings: Mapping[str, str]) -> Written:
        body = bodies[settings["SIMD"]]
        if settings.get("EXP") == "short":
            body = body.replace(".exp()", ".exp_u20()")
        macros = {f"KE_{knob.name}": settings[knob.name] for knob in gemm}
        macros |= {
            "KE_GRAIN": settings.get("GRAIN", "0"),
            "KE_SCHEDULE": SCHEDULES[settings.get("SCHEDULE", "default")],
        }
        source = defines(macros, settings) + _preamble(extraction.isa, settings["SIMD"], rounding, body) + body
        return Written(files=(SourceFile(path=f"{task.entry}.cpp", text=source),), flags=(TORCH_INCLUDE,))

    return Arm(
        title=INDUCTOR,
        summary="the kernels PyTorch's compiler generates for the reference, without Python between them",
        knobs=(*knobs, *gemm, *thread_knobs("KE_THREADS", facts), *flag_knobs(task, facts)),
        write=write,
    )


def _body(task: Task, name: str, extraction: Extraction) -> str:
    """Kernels and the entry point."""
    wrapper = parse_wrapper(extraction.codes[name])
    hidden = {source: (tensor.dtype, tensor.sizes) for source, tensor in extraction.hidden.items()}
    translation = Translation(task, wrapper, extraction.sources[name], axes=extraction.axes, hidden=hidden)
    runtime = [
        (RUNTIME / f"{part}.h").read_text() for part in ("gemm", "convolution", "search") if part in translation.used
    ]
    kernels = [kernel_text(kernel) for kernel in wrapper.kernels.values()]
    lines = [*translation.prologue]
    scratch = [root for root in translation.roots if not root.pointer]
    total = " + ".join(f"ke::rounded(({root.size.text}) * {_bytes(root.dtype)})" for root in scratch)
    if scratch:
        lines.append(f"char* ke_free = ke_scratch.at_least({total});")
    for root in translation.roots:
        if root.pointer:
            lines.append(f"auto* v_{root.name} = (void*){root.pointer};")
        else:
            lines.append(f"auto* v_{root.name} = (void*)ke_free;")
            lines.append(f"ke_free += ke::rounded(({root.size.text}) * {_bytes(root.dtype)});")
    lines += translation.lines
    lines = ["static thread_local ke::Scratch ke_scratch;", *lines, "return 0;"]
    body = "".join(f"    {line}\n" for line in lines)
    return "\n".join([*runtime, *kernels, f'extern "C" {prototype(task)} {{\n{body}}}\n'])


def _preamble(isa: str, simd: str, rounding: bool, body: str) -> str:
    """What Inductor's own build passes as -D flags, so that its headers need no libtorch to link with."""
    capability = ("AVX512" if isa.startswith("avx512") else "AVX2") if simd == "vec" else ""
    lines = ["#define C10_USING_CUSTOM_GENERATED_MACROS", "#define STANDALONE_TORCH_HEADER"]
    if capability:
        lines += [f"#define CPU_CAPABILITY {capability}", f"#define CPU_CAPABILITY_{capability}"]
    lines += [
        "#include <array>",
        "#include <torch/csrc/inductor/cpp_prefix.h>",
        "// the reference never leaves the bounds these checks guard",
        "#undef TORCH_CHECK",
        "#define TORCH_CHECK(...) ((void)0)",
        "static thread_local int64_t ke_work = 0;  // elements of the largest tensor of the next kernel",
        (RUNTIME / "memory.h").read_text(),
    ]
    if capability:
        lines.append((RUNTIME / "sleef.h").read_text())
    elif rounding and "std::" in body:
        lines.append((RUNTIME / "simd_math.h").read_text())
    return "\n".join(lines) + "\n"


def _bytes(dtype: str) -> int:
    return {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}.get(dtype, 1)


def _torch_version() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""
