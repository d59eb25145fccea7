"""CUDA C++ by NVRTC, in a child process, cached by content. A candidate is kernel.cu, its .cuh files and launch.toml.

There is no host code in it: our own runner loads the machine code and launches what the plan says.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

from kernelevolve.errors import RecordError, ToolMissingError
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.launch import FILE_NAME, LaunchPlan, plan_fault, read_plan
from kernelevolve.model.task import Task
from kernelevolve.model.value import canonical_json, sha256_text
from kernelevolve.model.verdict import CompileMessage, LaneName
from kernelevolve.toolchains import shipped
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cpp import MAX_SOURCE_BYTES
from kernelevolve.toolchains.cuda_source import source_fault
from kernelevolve.toolchains.device_artifact import DeviceBuilt, DeviceKernel, keep, keep_failure, recall, sha256
from kernelevolve.toolchains.libcuda import gpu
from kernelevolve.toolchains.nvrtc import Nvrtc, find_nvrtc
from kernelevolve.toolchains.process import Finished, run_tool

DEFAULT_ARCHITECTURE = "sm_90a"
"""What is compiled for where there is no GPU: only to see whether it compiles."""
BASE_OPTIONS = ("--ptxas-options=-v",)
DEFAULT_STANDARD = "--std=c++17"
MISSING = "no NVRTC: pip install nvidia-cuda-nvrtc nvidia-cuda-runtime (or a torch built for CUDA, or the CUDA toolkit)"
_FLAG = re.compile(
    r"--std=c\+\+(14|17|20)|--use_fast_math|--extra-device-vectorization|--restrict|--device-int128|-lineinfo"
    r"|--(fmad|ftz|prec-div|prec-sqrt)=(true|false)|--maxrregcount=\d{1,3}|-D[A-Za-z_]\w*(=[\w.+-]*)?"
)
_MESSAGE = re.compile(
    r"^(?P<file>[^\s(:][^(:]*)\((?P<line>\d+)\): (?P<kind>catastrophic error|error|warning|remark)(?: #[\w-]+)?: "
    r"(?P<text>.*)$"
)
_PTXAS = re.compile(r"^ptxas (?P<where>.*?)(?:, line \d+)?; (?P<kind>fatal|error)\s*: (?P<text>.*)$")
_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")


class CudaToolchain:
    language = "cuda"
    lane: LaneName = "device_code"
    suffixes = (".cu", ".cuh", ".toml")

    def __init__(self, *, cache: Path, architecture: str | None = None) -> None:
        self._cache = cache
        self._folder = cache / "cuda"
        self._architecture = architecture

    def problem(self) -> str | None:
        return None if find_nvrtc() is not None else MISSING

    def inspect(self, task: Task, candidate: Candidate) -> str | None:
        if candidate.language != self.language:
            return f"language is {candidate.language}, this toolchain compiles {self.language}"
        if task.platform != "cuda":
            return f"the task is for the platform {task.platform}; device code runs on cuda"
        if len([file for file in candidate.files if file.path.endswith(".cu")]) != 1:
            return "a CUDA candidate has exactly one .cu file; what it includes are .cuh files beside it"
        if FILE_NAME not in [file.path for file in candidate.files]:
            return f"no {FILE_NAME}: it says which kernels are launched, with which grid and arguments"
        if sum(len(file.text) for file in candidate.files) > MAX_SOURCE_BYTES:
            return f"source is larger than {MAX_SOURCE_BYTES} bytes"
        own = {file.path for file in candidate.files if file.path.endswith(".cuh")}
        for file in candidate.files:
            if not file.path.endswith((".cu", ".cuh")) and file.path != FILE_NAME:
                return f"{file.path}: a CUDA candidate is one .cu file, .cuh files and {FILE_NAME}"
            if file.path != FILE_NAME and (fault := source_fault(file.path, file.text, own)) is not None:
                return fault
        bad = [flag for flag in candidate.flags if not _FLAG.fullmatch(flag)]
        if bad:
            return f"flag {bad[0]!r} is not allowed (--std, --use_fast_math, --fmad, --maxrregcount and -D are)"
        try:
            plan = _plan(candidate)
        except RecordError as error:
            return str(error)
        return plan_fault(plan, task) or _missing_kernel(plan, candidate)

    def build(self, task: Task, candidate: Candidate, *, timeout_s: float) -> Artifact | BuildFailure:
        nvrtc = find_nvrtc()
        if nvrtc is None:
            elsewhere = shipped.find(self._cache, self.language, self.architecture, task, candidate)
            if elsewhere is not None:
                return elsewhere
            raise ToolMissingError(MISSING)
        try:
            plan = _plan(candidate)
        except RecordError as error:
            return BuildFailure(messages=(CompileMessage(file=FILE_NAME, message=str(error)),))
        key = sha256_text(canonical_json([nvrtc.version, nvrtc.headers, self.architecture, BASE_OPTIONS, candidate.id]))
        record = self._folder / key[:2] / f"{key}.json"
        if (found := recall(record)) is not None:
            return found
        with tempfile.TemporaryDirectory(prefix="ke-build-") as name:
            folder = Path(name)
            finished, answer = _compile(nvrtc, folder, candidate, plan, self.architecture, timeout_s)
            messages = parse_messages(str(answer.get("log", "")))
            if answer.get("code") == 0:
                data = (folder / "out.cubin").read_bytes()
                built = _built(plan, data, answer, self.architecture, f"NVRTC {nvrtc.version}", messages)
                return keep(record, built, [data], seconds=finished.seconds)
        failure = BuildFailure(messages=_failure(finished, answer, messages, timeout_s), seconds=finished.seconds)
        if answer:  # the compiler's own word; a timeout or a crash may be the machine's mood
            keep_failure(record, failure)
        return failure

    @property
    def architecture(self) -> str:
        found = gpu()
        return self._architecture or (found.architecture if found is not None else DEFAULT_ARCHITECTURE)


def _plan(candidate: Candidate) -> LaunchPlan:
    return read_plan(next(file.text for file in candidate.files if file.path == FILE_NAME))


def _missing_kernel(plan: LaunchPlan, candidate: Candidate) -> str | None:
    for kernel in plan.kernels:
        word = kernel.partition("<")[0].rpartition("::")[2]
        if not any(re.search(rf"\b{word}\b", file.text) for file in candidate.files if file.path != FILE_NAME):
            return f"{FILE_NAME}: no kernel '{kernel}' in the source"
    return None


def _compile(
    nvrtc: Nvrtc, folder: Path, candidate: Candidate, plan: LaunchPlan, architecture: str, timeout_s: float
) -> tuple[Finished, dict[str, object]]:
    """(how the child ended, what it answered or nothing)."""
    standard = () if any(flag.startswith("--std") for flag in candidate.flags) else (DEFAULT_STANDARD,)
    source = next(file for file in candidate.files if file.path.endswith(".cu"))
    (folder / "empty").mkdir()
    request = {
        **nvrtc.model_dump(), "empty": str(folder / "empty"), "kernels": plan.kernels,
        "source": source.model_dump(), "files": [f.model_dump() for f in candidate.files if f.path.endswith(".cuh")],
        "options": [f"--gpu-architecture={architecture}", *standard, *BASE_OPTIONS, *candidate.flags],
    }  # fmt: skip
    (folder / "request.json").write_text(json.dumps(request))
    command = [sys.executable, "-m", "kernelevolve.toolchains.nvrtc_child", str(folder / "request.json")]
    finished = run_tool(command, folder=folder, timeout_s=timeout_s)
    result = folder / "result.json"
    text = result.read_text() if result.exists() else ""
    return finished, json.loads(text) if text and finished.returncode == 0 else {}


def parse_messages(text: str) -> tuple[CompileMessage, ...]:
    """NVRTC's log as messages, errors first, at most 20; what ptxas says of a kernel becomes a note on it."""
    found: list[CompileMessage] = []
    entry = ""
    for line in text.splitlines():
        if match := _MESSAGE.match(line):
            severity = "error" if "error" in match["kind"] else "warning"
            found.append(
                CompileMessage.model_validate(
                    {"file": match["file"], "line": int(match["line"]), "severity": severity,
                     "message": match["text"][:500]}
                )
            )  # fmt: skip
        elif match := _PTXAS.match(line):
            found.append(CompileMessage(file="(ptxas)", message=match["text"][:500]))
        elif match := _ENTRY.search(line):
            entry = match["name"]
        elif entry and ("spill" in line or "registers" in line):
            words = line.rpartition("info    :")[2].strip(" .") if "info" in line else line.partition(".")[2].strip()
            found.append(CompileMessage(file="(ptxas)", severity="note", message=f"{entry}: {words}"[:500]))
    order = ("error", "warning", "note")
    return tuple(sorted(found, key=lambda message: order.index(message.severity))[:20])


def _failure(
    finished: Finished, answer: dict[str, object], messages: tuple[CompileMessage, ...], timeout_s: float
) -> tuple[CompileMessage, ...]:
    if finished.timed_out:
        return (CompileMessage(file="(compiler)", message=f"compilation took longer than {timeout_s:g} s"),)
    if any(message.severity == "error" for message in messages):
        return tuple(message for message in messages if message.severity != "note")
    tail = " | ".join((str(answer.get("log", "")) or finished.text).strip().splitlines()[-3:])[:500]
    return (CompileMessage(file="(compiler)", message=tail or f"the compiler ended with {finished.returncode}"),)


def _built(
    plan: LaunchPlan, data: bytes, answer: dict[str, object], architecture: str, compiler: str,
    messages: tuple[CompileMessage, ...],
) -> DeviceBuilt:  # fmt: skip
    names = answer["lowered"]
    assert isinstance(names, list)
    digest = sha256(data)
    return DeviceBuilt(
        plan=plan, kernels=tuple(DeviceKernel(function=str(name), cubin_sha256=digest) for name in names),
        architecture=architecture, compiler=compiler, messages=messages,
    )  # fmt: skip
