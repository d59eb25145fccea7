"""Triton: a module with @triton.jit kernels, compiled ahead of time: to PTX by Triton, then by the ptxas it brings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from kernelevolve.errors import MachineError
from kernelevolve.model.verdict import CompileMessage
from kernelevolve.toolchains.confined import run_confined
from kernelevolve.toolchains.cuda import parse_messages
from kernelevolve.toolchains.dsl import CompileFault, DslToolchain, Emitted
from kernelevolve.toolchains.dsl_plan import MAX_THREADS, Compiled
from kernelevolve.toolchains.environments import Environment

MAX_HIDDEN = 2
"""Parameters the compiler adds after the kernel's own: memory per block, and memory for profiling."""
_ENTRY = re.compile(r"\.entry\s+([A-Za-z_$][\w$]*)\s*\(([^)]*)\)([^{]*)\{")
_THREADS = re.compile(r"\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")

_ERROR = re.compile(r"^ptxas [^\n]*, line (?P<line>\d{1,8}); (?:error|fatal)\s*: (?P<text>[^\n]*)$", re.M)
_FILE = re.compile(r"^\s*\.file\s+(\d+)\s+(?:\"[^\"\n]*\"\s+)?\"([^\"\n]*)\"", re.M)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d{1,8})\b")
_READS_FILES = re.compile(r"\.(incbin|include)\b")
_STACK = re.compile(r"^ +(?=\d+ bytes stack frame)", re.M)
"""How ptxas starts the line that NVRTC starts with "ptxas         ."."""


class TritonToolchain(DslToolchain):
    language = "triton"
    emitter = "triton_emit.py"
    environment = "triton"
    modules = frozenset({"triton"})
    variables: ClassVar[dict[str, str]] = {"TRITON_DEFAULT_FP_FUSION": "1"}

    def finish(self, folder: Path, environment: Environment, emitted: Emitted, timeout_s: float) -> Compiled:
        kernel = emitted.request["kernel"]
        function, n_parameters, threads = read_ptx(emitted.blob, kernel)
        n_hidden = n_parameters - len(emitted.request["args"])
        if not 0 <= n_hidden <= MAX_HIDDEN or (emitted.facts.scratch_bytes and not n_hidden):
            raise _fault(f"{kernel}: the machine code has {n_parameters} parameters, the plan "
                         f"{len(emitted.request['args'])} arguments")  # fmt: skip
        cubin, messages = self._assemble(folder, environment, emitted.blob, timeout_s)
        scratch = emitted.facts.scratch_bytes
        return Compiled(
            function=function, cubin=cubin, block=(str(threads or emitted.facts.threads), "1", "1"),
            shared_bytes=emitted.facts.shared_bytes, scratch_bytes=scratch, messages=messages,
            hidden=(Compiled.SCRATCH if scratch else "0", "0")[:n_hidden],
        )  # fmt: skip

    def _assemble(
        self, folder: Path, environment: Environment, ptx: bytes, timeout_s: float
    ) -> tuple[bytes, tuple[CompileMessage, ...]]:
        work = folder / "assemble"
        work.mkdir(exist_ok=True)
        (work / "kernel.ptx").write_bytes(ptx)
        (work / "kernel.cubin").unlink(missing_ok=True)
        ptxas = Path(environment.site) / "triton" / "backends" / "nvidia" / "bin" / "ptxas"
        command = [str(ptxas), "-v", "-lineinfo", f"--gpu-name={self.architecture}", "kernel.ptx", "-o", "kernel.cubin"]
        finished = run_confined(command, folder=work, timeout_s=timeout_s)
        messages = parse_messages(_STACK.sub("ptxas . ", finished.text))
        if finished.timed_out:
            raise _fault(f"ptxas took longer than {timeout_s:.0f} s")
        if finished.returncode != 0:
            errors = _placed(finished.text, ptx) or [item for item in messages if item.severity == "error"]
            if not errors and "ptxas" not in finished.text:
                raise MachineError(f"ptxas did not run: {finished.text.strip()[:300]}")
            raise CompileFault(*list(dict.fromkeys(errors))[:20]) if errors else _fault(finished.text.strip()[-500:])
        return (work / "kernel.cubin").read_bytes(), messages


def _placed(text: str, ptx: bytes) -> list[CompileMessage]:
    """The assembler's errors at the lines of the source that the PTX says it came from."""
    lines = ptx.decode(errors="replace").splitlines()
    files = dict(_FILE.findall(ptx.decode(errors="replace")))
    found = []
    for match in _ERROR.finditer(text):
        before = (_LOC.match(line) for line in reversed(lines[: int(match["line"])]))
        place = next((item for item in before if item is not None), None)
        if place is not None and place[1] in files:
            where = {"file": Path(files[place[1]]).name, "line": int(place[2])}
            found.append(CompileMessage.model_validate({**where, "message": f"ptxas: {match['text']}"[:500]}))
    return found


def read_ptx(ptx: bytes, kernel: str) -> tuple[str, int, int]:
    """(name of the one entry, number of its parameters, threads of a block or 0). Raises CompileFault."""
    text = ptx.decode(errors="replace")
    entries = _ENTRY.findall(text)
    if len(entries) != 1 or len(re.findall(r"\.entry\b", text)) != 1:
        raise _fault(f"{kernel}: one kernel was expected, {len(entries)} came back")
    if (directive := _READS_FILES.search(text)) is not None:
        raise _fault(f"{kernel}: assembler directive {directive[0]}")
    name, parameters, directives = entries[0]
    if (cluster := _CLUSTER.search(directives)) and {number or "1" for number in cluster.groups()} != {"1"}:
        raise _fault(f"{kernel}: clusters of blocks are not launched here")
    threads = 1
    if (match := _THREADS.search(directives)) is not None:
        for number in match.groups():
            threads = min(threads * int((number or "1")[:6]), 2 * MAX_THREADS)
        if not 1 <= threads <= MAX_THREADS:
            raise _fault(f"{kernel}: more than {MAX_THREADS} threads in a block")
    return name, parameters.count(".param"), threads if match is not None else 0


def _fault(text: str) -> CompileFault:
    return CompileFault(CompileMessage(file="(compiler)", message=text))
