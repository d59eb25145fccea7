"""From Tile IR to the PTX of an ordinary kernel.

The assembler of Tile IR makes machine code that brings host code along (`.nv.host`), which the driver runs in the
process that launches it, to fill in what a launch needs: above all tensor maps for TMA. Host code made from a
candidate's input is not run here. So only the PTX is taken, which the assembler keeps in its output for debuggers, and
assembled again without it: one block of the grid is one block of threads, and parameters are the kernel's own. A
kernel that needs what host code would fill in (`.hidden` parameters) is refused.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

from kernelevolve.errors import MachineError
from kernelevolve.toolchains.confined import CONFINE, HARNESS, MEMORY_BYTES
from kernelevolve.toolchains.dsl import CompileFault, log_messages
from kernelevolve.toolchains.dsl_plan import MAX_SHARED_BYTES
from kernelevolve.toolchains.process import run_tool
from kernelevolve.toolchains.ptxas import compile_fault

TILEIRAS = "nvidia/cu13/bin/tileiras"
SCRIPT = HARNESS.with_name("tileiras.py")
MAX_STATIC_SHARED_BYTES = 48 * 1024
_SOURCE = b".nv_intermediate_source_section"
_HIDDEN = re.compile(r"^\s*\.hidden\s+\.param\b", re.M)
_LANGUAGE = re.compile(r"^\s*\.language\s+\d+\s*$", re.M)
_CLUSTER = re.compile(r"%(n?)clusterid\.")
_SHARED = re.compile(r"^\s*\.shared (?P<align>\.align \d+) \.b8 (?P<name>\w+)\[(?P<bytes>\d+)\];$", re.M)
_PYTHON_FILE = re.compile(r"\"?(\w+\.py)\"?:\d+")


class TilePtx(NamedTuple):
    text: bytes
    shared_bytes: int


def to_ptx(site: Path, bytecode: bytes, kernel: str, *, architecture: str, folder: Path, timeout_s: float) -> TilePtx:
    """Assemble bytecode and take its PTX. Raises CompileFault, MachineError."""
    work = folder / "tile"
    work.mkdir(exist_ok=True)
    (work / "kernel.tileir").write_bytes(bytecode)
    output = work / "kernel.cubin"
    output.unlink(missing_ok=True)
    program = (site / TILEIRAS).resolve()
    if not program.exists():
        raise MachineError(f"{program} is not there; install its environment again: kernelevolve toolchain install")
    command = [str(program), "kernel.tileir", "-o", output.name, "--gpu-name", architecture.rstrip("af"), "--lineinfo"]
    request = {"command": command, "folder": str(work), "confine": str(CONFINE), "memory_bytes": MEMORY_BYTES,
               "cpu_s": int(timeout_s * (os.cpu_count() or 1)) + 1}  # fmt: skip
    finished = run_tool(
        [sys.executable, "-I", "-B", str(SCRIPT), json.dumps(request)], folder=work, timeout_s=timeout_s
    )
    if finished.timed_out:
        raise compile_fault(f"tileiras took longer than {timeout_s:.0f} s")
    if finished.returncode != 0 or not output.exists():
        found = log_messages(finished.text, _PYTHON_FILE.findall(finished.text))
        raise CompileFault(*found) if found else compile_fault(f"tileiras: {finished.text.strip()[-450:]}")
    return ordinary(embedded(output.read_bytes(), kernel), kernel)


def embedded(cubin: bytes, kernel: str) -> str:
    """The PTX kept for debuggers: its lines end in NUL, and the source follows it. Raises CompileFault."""
    start = cubin.find(b".version ")
    end = cubin.find(_SOURCE, start)
    if start < 0 or end < 0:
        raise compile_fault(f"{kernel}: tileiras kept no PTX in its output")
    return cubin[start:end].replace(b"\0", b"\n").decode(errors="replace")


def ordinary(ptx: str, kernel: str) -> TilePtx:
    """Without what marks a tile kernel; too much static shared memory becomes dynamic. Raises CompileFault."""
    if _HIDDEN.search(ptx):
        raise compile_fault(
            f"{kernel}: needs host code at its launch (tensor maps for TMA), which is not run here: allow_tma=False"
        )
    text = _CLUSTER.sub(r"%\1ctaid.", _LANGUAGE.sub("", ptx))
    held = _SHARED.findall(text)
    shared_bytes = sum(int(size[:9]) for _, _, size in held)
    if shared_bytes <= MAX_STATIC_SHARED_BYTES:
        return TilePtx(text.encode(), 0)
    if len(held) != 1 or shared_bytes > MAX_SHARED_BYTES:
        raise compile_fault(f"{kernel}: {shared_bytes} bytes of shared memory in {len(held)} pieces: smaller tiles")
    align, name, _ = held[0]
    text = _SHARED.sub("", text)
    head, entry, body = text.partition(".visible .entry")
    return TilePtx(f"{head}.extern .shared {align} .b8 {name}[];\n{entry}{body}".encode(), shared_bytes)
