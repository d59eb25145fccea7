"""C++ by g++ or clang++, outside the judge, cached by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

from kernelevolve.errors import MachineError
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value, canonical_json, sha256_text
from kernelevolve.model.verdict import CompileMessage, LaneName
from kernelevolve.toolchains import abi
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cache import replace_file
from kernelevolve.toolchains.process import Finished, run_tool

BASE_FLAGS = (
    "-std=c++20",
    "-O3",
    "-march=native",
    "-fopenmp",
    "-fPIC",
    "-fvisibility=hidden",
    "-Werror=return-type",
    "-Wl,-z,defs",
)
MAX_SOURCE_BYTES = 2 * 2**20
TORCH_INCLUDE = "{torch_include}"
"""A flag that stands for the include folders of the installed torch, for kernels made from its headers."""

_FLAG = re.compile(
    r"-O[0-3s]|-Ofast|-std=(c|gnu)\+\+\d\w|-m[a-z0-9.=+-]+|-D[A-Za-z_]\w*(=[\w.+-]*)?"
    r"|-f(?!plugin|profile|dump|sanitize|callgraph|diagnostics|opt-info|save|stack-usage|compare-debug|lto-partition|"
    r"use-ld|auto-profile|branch-prob|test-cov|record|file-prefix|macro-prefix|debug-prefix|modules|pch|make)"
    r"[a-z0-9-]+(=[a-z0-9.]+)?|--param=[a-z0-9-]+=\d+"
)
_MESSAGE = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<kind>fatal error|error|warning): (?P<text>.*)$"
)
_LINKER = re.compile(r"^.*(undefined reference to .*|multiple definition of .*|cannot find -l.*)$")
_OUTSIDE = re.compile(
    r'^\s*#\s*(include|include_next|embed)\s*["<]\s*(/|[^">]*\.\./)|\.incbin|__has_include\s*\(\s*["<]/', re.M
)


class CppToolchain:
    """`-march=native`: artifacts are for the machine they were built on, and the cache key says so."""

    language = "cpp"
    lane: LaneName = "device_code"
    suffixes = (".cpp", ".cc", ".h", ".hpp")

    def __init__(self, *, cache: Path, compiler: str | None = None) -> None:
        self._folder = cache / "cpp"
        self._compiler = compiler or os.environ.get("KERNELEVOLVE_CXX") or find_compiler() or "g++"

    def problem(self) -> str | None:
        if shutil.which(self._compiler) is None:
            return f"no C++ compiler '{self._compiler}': apt-get install g++ (or set KERNELEVOLVE_CXX)"
        return None

    def inspect(self, task: Task, candidate: Candidate) -> str | None:
        if candidate.language != self.language:
            return f"language is {candidate.language}, this task is compiled as {self.language}"
        if not any(file.path.endswith((".cpp", ".cc")) for file in candidate.files):
            return "no .cpp file among the candidate's files"
        for file in candidate.files:
            if not file.path.endswith(self.suffixes):
                return f"{file.path}: only {' '.join(self.suffixes)} files are compiled"
            if Path(file.path).name in ("ke_abi.h", "ke_shim.cpp"):
                return f"{file.path}: this name is taken by the judge's own file"
            if outside := _OUTSIDE.search(file.text):
                line = file.text.count("\n", 0, outside.end()) + 1
                return f"{file.path}:{line}: includes a file outside the candidate"
        if sum(len(file.text) for file in candidate.files) > MAX_SOURCE_BYTES:
            return f"source is larger than {MAX_SOURCE_BYTES} bytes"
        if not any(re.search(rf"\b{task.entry}\b", file.text) for file in candidate.files):
            return f"no function named '{task.entry}': define extern \"C\" {abi.prototype(task)}"
        bad = [flag for flag in candidate.flags if flag != TORCH_INCLUDE and not _FLAG.fullmatch(flag)]
        return f"flag {bad[0]!r} is not allowed (optimisation, -f, -m, -D and -std flags are)" if bad else None

    def build(self, task: Task, candidate: Candidate, *, timeout_s: float) -> Artifact | BuildFailure:
        key = sha256_text(canonical_json([self._identity, abi.header(task), abi.shim(task), candidate.id]))
        library = self._folder / key[:2] / f"{key}.so"
        record = library.with_suffix(".json")
        if (found := _recall(library, record)) is not None:
            return found
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="ke-build-") as name:
            folder = Path(name)
            _write_sources(folder, task, candidate)
            sources = [file.path for file in candidate.files if file.path.endswith((".cpp", ".cc"))]
            command = [self._compiler, *BASE_FLAGS, *_expand(candidate.flags), "-shared", "-include", "ke_abi.h", "-I."]
            finished = run_tool([*command, *sources, "ke_shim.cpp", "-o", "out.so"], folder=folder, timeout_s=timeout_s)
            messages = parse_messages(finished.text)
            if finished.returncode == 0 and not finished.timed_out:
                return _keep(library, record, folder / "out.so", messages, finished.seconds)
        failure = BuildFailure(messages=_failure_messages(finished, messages, timeout_s), seconds=finished.seconds)
        if not finished.timed_out:  # a timeout may be the machine's mood; do not remember it
            replace_file(record, failure.to_json().encode())
        return failure

    @property
    def _identity(self) -> str:
        return compiler_identity(self._compiler)


class _Kept(Value):
    sha256: str
    seconds: float
    messages: tuple[CompileMessage, ...] = ()


def find_compiler() -> str | None:
    return next((name for name in ("g++", "clang++") if shutil.which(name)), None)


@cache
def compiler_identity(compiler: str) -> str:
    """Everything that can change the machine code besides the source: version and this CPU."""
    version = run_tool([compiler, "--version"], folder=Path("/"), timeout_s=20).text.splitlines()[:1]
    cpu = [line for line in _cpuinfo() if line.startswith(("model name", "flags", "Features"))]
    return canonical_json(
        [compiler, version, platform.machine(), hashlib.sha256("".join(cpu).encode()).hexdigest(), BASE_FLAGS]
    )


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().split("\n\n")[0].splitlines() if path.exists() else []


def _expand(flags: tuple[str, ...]) -> list[str]:
    expanded: list[str] = []
    for flag in flags:
        if flag != TORCH_INCLUDE:
            expanded.append(flag)
            continue
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            raise MachineError("a candidate needs torch's headers: pip install 'kernelevolve[cpu]'")
        include = Path(spec.origin).parent / "include"
        expanded += ["-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]
    return expanded


def _write_sources(folder: Path, task: Task, candidate: Candidate) -> None:
    for file in candidate.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
    (folder / "ke_abi.h").write_text(abi.header(task))
    (folder / "ke_shim.cpp").write_text(abi.shim(task))


def parse_messages(text: str) -> tuple[CompileMessage, ...]:
    """The compiler's text as messages; at most 20, errors first."""
    found = []
    for line in text.splitlines():
        if match := _MESSAGE.match(line):
            severity = "warning" if match["kind"] == "warning" else "error"
            found.append(
                CompileMessage(
                    file=match["file"].removeprefix("./"),
                    line=int(match["line"]),
                    column=int(match["column"] or 0),
                    severity=severity,
                    message=match["text"][:500],
                )  # fmt: skip
            )
        elif match := _LINKER.match(line):
            found.append(CompileMessage(file="(link)", message=match[1][:500]))
    return tuple(sorted(found, key=lambda message: message.severity != "error")[:20])


def _failure_messages(
    finished: Finished, messages: tuple[CompileMessage, ...], timeout_s: float
) -> tuple[CompileMessage, ...]:
    if finished.timed_out:
        return (CompileMessage(file="(compiler)", message=f"compilation took longer than {timeout_s:g} s"),)
    if any(message.severity == "error" for message in messages):
        return messages
    tail = " | ".join(finished.text.strip().splitlines()[-3:])[:500]
    return (CompileMessage(file="(compiler)", message=tail or f"the compiler ended with {finished.returncode}"),)


def _recall(library: Path, record: Path) -> Artifact | BuildFailure | None:
    if not record.exists():
        return None
    text = record.read_text()
    if '"sha256"' not in text:
        return BuildFailure.from_json(text)
    kept = _Kept.from_json(text)
    if not library.exists() or hashlib.sha256(library.read_bytes()).hexdigest() != kept.sha256:
        return None  # damaged or removed: build again
    return Artifact(path=str(library), sha256=kept.sha256, seconds=0.0, cached=True, messages=kept.messages)


def _keep(library: Path, record: Path, built: Path, messages: tuple[CompileMessage, ...], seconds: float) -> Artifact:
    data = built.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    replace_file(library, data)
    replace_file(record, _Kept(sha256=digest, seconds=seconds, messages=messages).to_json().encode())
    return Artifact(path=str(library), sha256=digest, seconds=seconds, cached=False, messages=messages)
