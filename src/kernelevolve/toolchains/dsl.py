"""The base of languages whose kernels are Python that a compiler of its own turns into device code, ahead of time.

A candidate is one or several .py files and launch.toml. Its module is run once, to be compiled: in the language's own
interpreter, in a process that has given its rights up (`confined.py`). What comes back is the candidate's word: machine
code and a few numbers, all checked here. Nothing of the candidate's Python runs when it is judged.

A new language: a subclass with its names, an emitter in `emit/`, and `finish` where more than machine code comes back.
"""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import ValidationError

from kernelevolve.errors import RecordError, ToolMissingError
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.launch import FILE_NAME, LaunchPlan, plan_fault, read_plan
from kernelevolve.model.task import Task
from kernelevolve.model.value import canonical_json, sha256_text
from kernelevolve.model.verdict import CompileMessage, LaneName
from kernelevolve.toolchains import shipped
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.confined import CONFINE, HARNESS, Reply, ask
from kernelevolve.toolchains.cpp import MAX_SOURCE_BYTES
from kernelevolve.toolchains.device_artifact import MAX_CUBIN_BYTES, keep, keep_failure, recall
from kernelevolve.toolchains.dsl_plan import Compiled, Facts, PlanError, launch_request, resolved_plan
from kernelevolve.toolchains.environments import Environment, find_environment, missing
from kernelevolve.toolchains.libcuda import gpu

DEFAULT_ARCHITECTURE = "sm_90a"
"""What is compiled for where there is no GPU."""
ELF = b"\x7fELF"
_LOG_LINE = re.compile(
    r"^(?:loc\()?\"?(?P<file>[^\s\":()]+\.py)\"?:(?P<line>\d+)(?::(?P<column>\d+))?\)?: "
    r"(?P<kind>error|warning): (?P<text>.*)$"
)
_CONTROL = re.compile(r"[^\x20-\x7e\xa0-\uffff]+")


class CompileFault(Exception):
    """What was handed in does not compile, or is not what it says. Raised while a build finishes, never beyond it."""

    def __init__(self, *messages: CompileMessage) -> None:
        super().__init__(messages[0].message)
        self.messages = messages


class DslToolchain:
    language: str
    emitter: str
    """Its file in `emit/`."""
    environment: str
    """Its name in `environments.RECIPES`."""
    steps: tuple[Path, ...] = ()
    """Further files of ours that decide what comes out: another text, another artifact."""
    modules: frozenset[str] = frozenset()
    """What a candidate may import beyond a few of Python's own."""
    variables: ClassVar[dict[str, str]] = {}
    """The environment the compiler runs with."""
    lane: LaneName = "device_code"
    suffixes: tuple[str, ...] = (".py", ".toml")

    def __init__(self, *, cache: Path, architecture: str | None = None) -> None:
        self._cache = cache
        self._architecture = architecture

    @property
    def architecture(self) -> str:
        found = gpu()
        return self._architecture or (found.architecture if found is not None else DEFAULT_ARCHITECTURE)

    def problem(self) -> str | None:
        return missing(self.environment)

    @property
    def compiler(self) -> str:
        """What would compile here, with its versions; empty where nothing would."""
        found = find_environment(self.environment)
        return found.identity if found is not None else ""

    def inspect(self, task: Task, candidate: Candidate) -> str | None:
        """The first of two walls, for its good messages; the second is that the process has no rights."""
        if candidate.language != self.language:
            return f"language is {candidate.language}, this toolchain compiles {self.language}"
        if task.platform != "cuda":
            return f"the task is for the platform {task.platform}; device code runs on cuda"
        sources = [file for file in candidate.files if file.path != FILE_NAME]
        for file in sources:
            if not file.path.endswith(".py") or "/" in file.path or not Path(file.path).stem.isidentifier():
                return f"{file.path}: a {self.language} candidate is .py files side by side and {FILE_NAME}"
        if not sources:
            return "no .py file among the candidate's files"
        if len(sources) == len(candidate.files):
            return f"no {FILE_NAME}: it says which kernels are launched, with which grid and arguments"
        if sum(len(file.text) for file in candidate.files) > MAX_SOURCE_BYTES:
            return f"source is larger than {MAX_SOURCE_BYTES} bytes"
        if candidate.flags:
            return f"flag {candidate.flags[0]!r}: {self.language} takes none; {FILE_NAME} has num_warps and constexprs"
        try:
            plan = plan_of(candidate)
            return plan_fault(plan, task) or self.plan_fault(plan, task) or self._source_fault(plan, candidate)
        except (RecordError, PlanError) as error:
            return str(error)

    def plan_fault(self, plan: LaunchPlan, task: Task) -> str | None:
        """Why the plan does not suit this language."""
        for launch in plan.launch:
            launch_request(launch, plan, task)
            if launch.block != ("1", "1", "1") or launch.shared_bytes != "0":
                return f"{FILE_NAME}: {launch.kernel}: block and shared_bytes are the compiler's to say: give num_warps"
            if "<" in launch.kernel:
                return f"{FILE_NAME}: {launch.kernel}: the kernel's name alone; what is fixed goes into constexprs"
        return None

    def prepared(self, plan: LaunchPlan, task: Task) -> tuple[LaunchPlan, list[dict[str, Any]]]:
        """(the plan with arguments as the machine code takes them, what the compiler is asked for, one per launch).
        Raises PlanError."""
        return plan, [launch_request(launch, plan, task) for launch in plan.launch]

    def _source_fault(self, plan: LaunchPlan, candidate: Candidate) -> str | None:
        own = {Path(file.path).stem for file in candidate.files}
        defined: set[str] = set()
        for file in candidate.files:
            if file.path == FILE_NAME:
                continue
            try:
                tree = ast.parse(file.text, file.path)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None  # the build says it with its line
            defined |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            for node in ast.walk(tree):
                for name in imported(node):
                    if name.partition(".")[0] not in self.modules | PLAIN_MODULES | own:
                        return f"{file.path}:{getattr(node, 'lineno', 0)}: imports {name}; allowed here: " + ", ".join(
                            sorted(self.modules | PLAIN_MODULES)
                        )
        absent = [launch.kernel for launch in plan.launch if launch.kernel not in defined]
        return f"{FILE_NAME}: no function '{absent[0]}' in the source" if absent else None

    def build(self, task: Task, candidate: Candidate, *, timeout_s: float) -> Artifact | BuildFailure:
        environment = find_environment(self.environment)
        if environment is None:
            if (found := shipped.find(self._cache, self.language, self.architecture, task, candidate)) is not None:
                return found
            raise ToolMissingError(self.problem() or f"no compiler for {self.language}")
        try:
            plan, requests = self.prepared(plan_of(candidate), task)
        except (RecordError, PlanError) as error:
            return BuildFailure(messages=(CompileMessage(file=FILE_NAME, message=str(error)),))
        if (broken := syntax_fault(candidate)) is not None:
            return BuildFailure(messages=(broken,))
        record = self._record(environment, task, candidate)
        if (kept := recall(record)) is not None:
            return kept
        with tempfile.TemporaryDirectory(prefix="ke-build-") as name:
            return self._build(Path(name), record, environment, candidate, Work(plan, requests), timeout_s)

    def _record(self, environment: Environment, task: Task, candidate: Candidate) -> Path:
        steps = (HARNESS, CONFINE, HARNESS.with_name(self.emitter), *self.steps)
        scripts = [sha256_text(path.read_text()) for path in steps]
        key = sha256_text(canonical_json([
            self.language, environment.identity, scripts, self.variables, self.architecture, shipped.abi_id(task),
            candidate.id,
        ]))  # fmt: skip
        return self._cache / self.language / key[:2] / f"{key}.json"

    def _build(
        self, folder: Path, record: Path, environment: Environment, candidate: Candidate, work: Work, timeout_s: float
    ) -> Artifact | BuildFailure:
        unique = [request for n, request in enumerate(work.requests) if request not in work.requests[:n]]
        request = {
            "language": self.language, "emitter": str(HARNESS.with_name(self.emitter)), "launches": unique,
            "architecture": self.architecture, "capability": re.sub(r"\D", "", self.architecture),
            "files": [file.model_dump() for file in candidate.files if file.path != FILE_NAME],
        }  # fmt: skip
        reply = ask(Path(environment.python), request, folder=folder, timeout_s=timeout_s, environment=self.variables)
        names = [file.path for file in candidate.files]
        try:
            compiled = self._checked(folder, environment, reply, unique, names, timeout_s - reply.seconds)
            pairs = [compiled[unique.index(item)] for item in work.requests]
            notes = tuple(dict.fromkeys(message for item in compiled for message in item.messages))[:20]
            built = resolved_plan(work.plan, pairs, self.architecture, environment.identity, notes)
        except CompileFault as fault:
            failure = BuildFailure(messages=fault.messages, seconds=reply.seconds)
            return failure if reply.passing else keep_failure(record, failure)
        except PlanError as error:
            return BuildFailure(messages=(CompileMessage(file=FILE_NAME, message=str(error)),), seconds=reply.seconds)
        return keep(record, built, {item.cubin for item in compiled}, seconds=reply.seconds)

    def _checked(
        self, folder: Path, environment: Environment, reply: Reply, requests: Sequence[Any], names: Sequence[str],
        timeout_s: float,
    ) -> list[Compiled]:  # fmt: skip
        if reply.fault or "error" in reply.header:
            raise CompileFault(*failure_messages(reply, names))
        facts = reply.header.get("facts")
        if not isinstance(facts, list) or len(facts) != len(requests) or len(reply.blobs) != len(requests):
            raise CompileFault(
                CompileMessage(file="(compiler)", message="the compiler did not answer for every launch")
            )
        found: list[Compiled] = []
        for request, told, blob in zip(requests, facts, reply.blobs, strict=True):
            try:
                checked = Facts.model_validate(told)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                what = f"{'.'.join(map(str, first['loc']))} is {str(first['input'])[:40]}: {first['msg']}"
                fault = one_line(f"{request['kernel']}: cannot be launched: {what}")
                raise CompileFault(CompileMessage(file="(compiler)", message=fault)) from None
            one = self.finish(folder, environment, Emitted(request, checked, blob), max(1.0, timeout_s))
            if not one.cubin.startswith(ELF) or len(one.cubin) > MAX_CUBIN_BYTES:
                fault = f"{request['kernel']}: no machine code came back, or more than {MAX_CUBIN_BYTES} bytes"
                raise CompileFault(CompileMessage(file="(compiler)", message=fault))
            found.append(one)
        return found

    def finish(self, folder: Path, environment: Environment, emitted: Emitted, timeout_s: float) -> Compiled:
        """From what the emitter handed over to machine code; here it already is. Raises CompileFault."""
        facts = emitted.facts
        return Compiled(
            function=facts.function, cubin=emitted.blob, block=(str(facts.threads), "1", "1"),
            shared_bytes=facts.shared_bytes, scratch_bytes=facts.scratch_bytes,
            hidden=(Compiled.SCRATCH,) if facts.scratch_bytes else (),
        )  # fmt: skip


class Emitted(NamedTuple):
    request: dict[str, Any]
    facts: Facts
    blob: bytes


class Work(NamedTuple):
    plan: LaunchPlan
    requests: list[dict[str, Any]]
    """One per launch; equal ones are compiled once."""


PLAIN_MODULES = frozenset({"__future__", "math", "typing"})


def plan_of(candidate: Candidate) -> LaunchPlan:
    """Raises RecordError."""
    return read_plan(next((file.text for file in candidate.files if file.path == FILE_NAME), ""))


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "."]
    return []


def syntax_fault(candidate: Candidate) -> CompileMessage | None:
    for file in candidate.files:
        if file.path == FILE_NAME:
            continue
        try:
            ast.parse(file.text, file.path)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", 0) or 0
            text = getattr(error, "msg", None) or str(error)
            return CompileMessage(file=file.path, line=line, message=f"{type(error).__name__}: {text}"[:500])
    return None


def failure_messages(reply: Reply, names: Sequence[str]) -> tuple[CompileMessage, ...]:
    """What the compiler and Python said, as far as it is about the candidate's files; at least one error."""
    found: list[CompileMessage] = []
    error = reply.header.get("error")
    if isinstance(error, dict):
        text, file, line = (error.get(key) for key in ("message", "file", "line"))
        told = one_line(str(text)).replace(f"ValueError: {FILE_NAME}:", f"{FILE_NAME}:")
        place = FILE_NAME if told.startswith(f"{FILE_NAME}:") else str(file)
        found.append(CompileMessage(
            file=place if place in names else "(compiler)", line=line if type(line) is int and 0 < line < 10**7 else 0,
            message=told,
        ))  # fmt: skip
    found += log_messages(reply.log, names)
    found.sort(key=lambda message: (message.severity != "error", not message.line))  # what names a line comes first
    if reply.fault:
        tail = " | ".join(reply.log.strip().splitlines()[-3:])
        found.insert(
            0, CompileMessage(file="(compiler)", message=one_line(f"{reply.fault}: {tail}" if tail else reply.fault))
        )
    return tuple(found[:20]) or (CompileMessage(file="(compiler)", message="nothing was compiled"),)


def log_messages(log: str, names: Sequence[str]) -> list[CompileMessage]:
    """Lines like `kernel.py:12:4: error: text` that compilers print beside what they raise."""
    found: list[CompileMessage] = []
    for line in log.splitlines():
        match = _LOG_LINE.match(line)
        if match is not None and match["file"] in names and len(match["line"]) < 8:
            found.append(CompileMessage.model_validate({
                "file": match["file"], "line": int(match["line"]), "severity": match["kind"],
                "column": int((match["column"] or "0")[:6]), "message": one_line(match["text"]),
            }))  # fmt: skip
    return found


def one_line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()[:500]
