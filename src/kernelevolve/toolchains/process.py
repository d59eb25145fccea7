"""Runs a compiler: own session, resource limits, killed whole on timeout."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from kernelevolve.errors import ToolMissingError
from kernelevolve.model.value import Value

MEMORY_BYTES = 8 * 2**30
FILE_BYTES = 512 * 2**20


_DEVICE_KEYS = ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")


class Finished(Value):
    returncode: int
    text: str
    seconds: float
    timed_out: bool = False


def run_tool(
    command: list[str], *, folder: Path, timeout_s: float, text_limit: int = 64 * 1024, limited: bool = True
) -> Finished:
    """Run to the end, stdout and stderr in one text cut at `text_limit`. `limited` is for what reads foreign source; a
    GPU's driver alone needs more address space. Raises ToolMissingError."""
    prlimit = shutil.which("prlimit") if limited else None
    limits = (
        [prlimit, f"--as={MEMORY_BYTES}", f"--cpu={int(timeout_s) + 1}", f"--fsize={FILE_BYTES}", "--core=0", "--"]
        if prlimit
        else []
    )
    if shutil.which(command[0]) is None:
        raise ToolMissingError(f"program '{command[0]}' is not installed; install it (Debian: apt-get install g++)")
    environment = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", *_DEVICE_KEYS) if key in os.environ}
    environment["LC_ALL"] = "C"  # messages in one language: they are parsed
    started = time.monotonic()
    with subprocess.Popen(
        [*limits, *command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        timed_out = False
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
            kill_group(process.pid)
            output, _ = process.communicate()
        except BaseException:
            kill_group(process.pid)
            raise
    return Finished(
        returncode=process.returncode,
        text=output[:text_limit].decode(errors="replace"),
        seconds=time.monotonic() - started,
        timed_out=timed_out,
    )


def kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
