"""PTX to machine code by an assembler that runs apart from whatever wrote the PTX.

Machine code that a candidate's own process hands over is never loaded: besides code for the device it can hold code
for the host, in the section `.nv.host`, which the driver runs in the process that launches it. The assembler puts
nothing there unless it is told to.
"""

from __future__ import annotations

import re
from pathlib import Path

from kernelevolve.errors import MachineError
from kernelevolve.model.verdict import CompileMessage
from kernelevolve.toolchains.confined import run_confined
from kernelevolve.toolchains.cuda import parse_messages
from kernelevolve.toolchains.dsl import CompileFault

IN_PACKAGES = "nvidia/cu13/bin/ptxas"
"""Where `nvidia-cuda-nvcc` puts it, below the folder of an environment's packages."""
_ERROR = re.compile(r"^ptxas [^\n]*, line (?P<line>\d{1,8}); (?:error|fatal)\s*: (?P<text>[^\n]*)$", re.M)
_FILE = re.compile(r"^\s*\.file\s+(\d+)\s+(?:\"[^\"\n]*\"\s+)?\"([^\"\n]*)\"", re.M)
_FOLDER = re.compile(rb"^(\s*\.file\s+\d+\s+)(?:\"[^\"\n]*\"\s+)?\"[^\"\n]*/([^\"/\n]*)\"", re.M)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d{1,8})\b")
_STACK = re.compile(r"^ +(?=\d+ bytes stack frame)", re.M)
"""How ptxas starts the line that NVRTC starts with "ptxas         ."."""


def assemble(
    ptxas: Path, ptx: bytes, *, architecture: str, folder: Path, timeout_s: float
) -> tuple[bytes, tuple[CompileMessage, ...]]:
    """(machine code, what the assembler said: registers and spills are notes). Raises CompileFault, MachineError."""
    work = folder / "assemble"
    work.mkdir(exist_ok=True)
    # Names alone: where a compiler is installed is no part of a kernel, and one kernel is the same code everywhere.
    (work / "kernel.ptx").write_bytes(_FOLDER.sub(rb'\1"\2"', ptx))
    (work / "kernel.cubin").unlink(missing_ok=True)
    command = [str(ptxas), "-v", "-lineinfo", f"--gpu-name={architecture}", "kernel.ptx", "-o", "kernel.cubin"]
    finished = run_confined(command, folder=work, timeout_s=timeout_s)
    messages = parse_messages(_STACK.sub("ptxas . ", finished.text))
    if finished.timed_out:
        raise compile_fault(f"ptxas took longer than {timeout_s:.0f} s")
    if finished.returncode != 0:
        errors = placed(finished.text, ptx) or [item for item in messages if item.severity == "error"]
        if not errors and "ptxas" not in finished.text:
            raise MachineError(f"ptxas did not run: {finished.text.strip()[:300]}")
        raise CompileFault(*list(dict.fromkeys(errors))[:20]) if errors else compile_fault(finished.text.strip()[-500:])
    return (work / "kernel.cubin").read_bytes(), messages


def placed(text: str, ptx: bytes) -> list[CompileMessage]:
    """The assembler's errors at the lines of the source that the PTX says it came from."""
    lines = ptx.decode(errors="replace").splitlines()
    files = dict(_FILE.findall(ptx.decode(errors="replace")))
    found: list[CompileMessage] = []
    for match in _ERROR.finditer(text):
        before = (_LOC.match(line) for line in reversed(lines[: int(match["line"])]))
        place = next((item for item in before if item is not None), None)
        if place is not None and place[1] in files:
            where = {"file": Path(files[place[1]]).name, "line": int(place[2])}
            found.append(CompileMessage.model_validate({**where, "message": f"ptxas: {match['text']}"[:500]}))
    return found


def compile_fault(text: str) -> CompileFault:
    return CompileFault(CompileMessage(file="(compiler)", message=text))
