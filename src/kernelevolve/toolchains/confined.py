"""Runs foreign Python, or a tool on foreign input, in a process that has given its rights up; reads a bounded answer.

What is in force is what the kernel offers: Landlock (read the interpreter and its packages, nothing of the user's),
seccomp (no process, no network, no file changed), no capabilities; limits on memory, processor time and what is
printed everywhere. Where the kernel has no Landlock, a root folder of its own with the same paths, if mounting is
allowed. Where neither is, foreign code can read what this user can read, and still change nothing and tell nobody but
through the machine code it hands in. `Reply.isolation` names what was active.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any

from kernelevolve.errors import MachineError
from kernelevolve.toolchains.confine import NO_EARLY_THREADS
from kernelevolve.toolchains.emit.harness import READY
from kernelevolve.toolchains.process import Finished, kill_group, run_tool

MEMORY_BYTES = 8 * 2**30
"""Address space, of which compilers reserve more than they touch."""
LOG_BYTES = 64 * 1024
HEADER_BYTES = 256 * 1024
ANSWER_BYTES = 96 * 2**20
HARNESS = Path(__file__).parent / "emit" / "harness.py"
CONFINE = Path(__file__).parent / "confine.py"
_TOOL = Path(__file__).parent / "emit" / "tool.py"
_KEPT = ("LD_LIBRARY_PATH",)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the process said, or why it said nothing (`fault`). All of it is the candidate's word."""

    header: Mapping[str, Any] = field(default_factory=dict)
    blobs: tuple[bytes, ...] = ()
    fault: str = ""
    log: str = ""
    seconds: float = 0.0
    passing: bool = False
    """Whether the fault may be the machine's mood: not to be remembered."""

    @property
    def isolation(self) -> tuple[str, ...]:
        found = self.header.get("isolation")
        return tuple(str(name)[:40] for name in found[:20]) if isinstance(found, list) else ()


def ask(
    python: Path, request: Mapping[str, Any], *, folder: Path, timeout_s: float, environment: Mapping[str, str],
    bare_root: bool = False,
) -> Reply:  # fmt: skip
    """Run the harness with this request in the interpreter `python`. Nothing of it is left when this returns. Raises
    MachineError when it fails before the candidate's code ran.
    `bare_root`: hide files by a mount namespace also where Landlock does it."""
    text = json.dumps({
        **request, "confine": str(CONFINE), "bare_root": bare_root, "memory_bytes": MEMORY_BYTES,
        "log_bytes": LOG_BYTES, "cpu_s": int(timeout_s * (os.cpu_count() or 1)) + 1,
    })  # fmt: skip
    (folder / "request.json").write_text(text)
    started = time.monotonic()
    read_end, write_end = os.pipe()
    data, late, code = b"", False, None
    with (folder / "log").open("w+b") as log:
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(os.close, write_end)
                process = subprocess.Popen(
                    [str(python), "-I", "-B", str(HARNESS), str(folder / "request.json"), str(write_end)],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(write_end,), start_new_session=True,
                    cwd=folder, env=_environment(folder, environment),
                )  # fmt: skip
            try:
                data, late = _read_all(read_end, started + timeout_s)
                flooded = len(data) > ANSWER_BYTES + len(READY)
                code = 0 if flooded else _exit_code(process, started + timeout_s)
            finally:
                kill_group(process.pid)
                process.wait()
        finally:
            os.close(read_end)
        log.seek(0)
        printed = log.read(LOG_BYTES).decode(errors="replace")
    seconds = time.monotonic() - started
    if not data.startswith(READY):
        tail = " | ".join(printed.strip().splitlines()[-3:])[:500]
        raise MachineError(f"the compiler's process did not get ready within {seconds:.0f} s: {tail}")
    if late or code is None:
        return Reply(fault=f"compilation took longer than {timeout_s:g} s", log=printed, seconds=seconds, passing=True)
    return _parse(data[len(READY) :], code, printed, seconds)


def _parse(data: bytes, code: int, printed: str, seconds: float) -> Reply:
    line, _, rest = data.partition(b"\n")
    if code != 0 or not data:
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Reply(fault=f"the compiler's process ended early ({ended})", log=printed, seconds=seconds,
                     passing=code == -SIGKILL)  # fmt: skip
    refused = Reply(fault="the compiler's process answered with nonsense or too much", log=printed, seconds=seconds)
    if len(data) > ANSWER_BYTES or len(line) > HEADER_BYTES:
        return refused
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return refused
    if not isinstance(header, dict) or not isinstance(sizes := header.get("sizes"), list):
        return refused
    if not all(type(size) is int and size >= 0 for size in sizes) or sum(sizes) != len(rest):
        return refused
    blobs: list[bytes] = []
    for size in sizes:
        blobs.append(rest[:size])
        rest = rest[size:]
    return Reply(header=header, blobs=tuple(blobs), log=printed, seconds=seconds)


def _exit_code(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    try:
        return process.wait(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _read_all(handle: int, deadline: float) -> tuple[bytes, bool]:
    """(everything until all writers are gone, cut just above the limit; whether the deadline passed)."""
    data = bytearray()
    while len(data) <= ANSWER_BYTES + len(READY):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([handle], [], [], left)[0]:
            return bytes(data), True
        chunk = os.read(handle, 2**20)
        if not chunk:
            break
        data += chunk
    return bytes(data), False


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the user's; compilers that want a home get the build's own folder."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    folders = {"HOME": str(folder), "TMPDIR": str(folder)}
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **folders, **NO_EARLY_THREADS, **kept, **more}


def run_confined(command: list[str], *, folder: Path, timeout_s: float) -> Finished:
    """A trusted program on foreign input: it reads its own folder and the system's, and writes only in `folder`."""
    program = Path(command[0]).resolve()
    if not program.exists():
        raise MachineError(f"{program} is not there; install its environment again: kernelevolve toolchain install")
    request = {"command": [str(program), *command[1:]], "folder": str(folder), "confine": str(CONFINE),
               "memory_bytes": MEMORY_BYTES, "cpu_s": int(timeout_s * (os.cpu_count() or 1)) + 1}  # fmt: skip
    return run_tool([sys.executable, "-I", "-B", str(_TOOL), json.dumps(request)], folder=folder, timeout_s=timeout_s)
