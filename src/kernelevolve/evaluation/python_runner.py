"""The process a Python candidate lives in. Ours until the candidate's module runs; hostile from then on.

Started by the runner in namespaces of its own. It imports torch, maps the arena, gives up every right it does not need
and only then runs the candidate. Same protocol as the runner's, and on a device a longer one (`python_device`). Nothing
here knows a reference, an answer or a seed.
argv: control reply arena arena_bytes plan seccomp; `plan` is a descriptor with the arguments' layout and the source;
`arena` is -1 where the plan has a handle of a device's memory.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import mmap
import os
import resource
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernelevolve.evaluation import python_device
from kernelevolve.evaluation.python_arguments import ArgumentPlan
from kernelevolve.evaluation.python_device import RAISED, RETURNED
from kernelevolve.toolchains.confine import confine, filter_all_threads

LOG_BYTES = 64 * 1024
CPU_S = 10_000
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev/null", "/dev/urandom", "/opt")
_PROGRAMS = ("/bin", "/sbin")
"""Folders of their own on some systems."""


def readable_paths() -> list[str]:
    """The interpreter, its libraries and the system's; nothing of kernelevolve's own, whose task files name shapes."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    packages = [str(path) for folder in folders for path in Path(folder).iterdir() if "kernelevolve" not in path.name]
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    found = [str(path) for folder in standard for path in Path(folder).iterdir() if path.name != "site-packages"]
    libraries = [path for prefix in {sys.base_prefix, sys.prefix} for path in (f"{prefix}/bin", f"{prefix}/include")]
    shared = [str(path) for path in Path(sys.base_prefix, "lib").glob("*.so*")]
    return [*packages, *found, *libraries, *shared, *_SYSTEM]


def load(files: list[dict[str, str]], entry: str) -> Callable[..., Any]:
    """The entry point of the first file; the others can be imported by their names. No file is written."""
    modules = {Path(file["path"]).stem: file for file in files}

    def run(name: str, file: dict[str, str]) -> types.ModuleType:
        module = types.ModuleType(name)
        module.__file__ = file["path"]
        sys.modules[name] = module
        # Compilers of Python functions (Triton, torch.compile) ask for their source lines.
        linecache.cache[file["path"]] = (len(file["text"]), None, file["text"].splitlines(keepends=True), file["path"])
        exec(compile(file["text"], file["path"], "exec"), module.__dict__)  # noqa: S102 - that is what this process is for
        return module

    for name, file in list(modules.items())[1:]:
        run(name, file)
    function = getattr(run("candidate", files[0]), entry, None)
    if not callable(function):
        raise TypeError(f"no function '{entry}' in {files[0]['path']}")
    return function  # type: ignore[no-any-return]


def answer_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def main() -> None:
    control, reply, arena_fd, arena_bytes, plan_fd = (int(word) for word in sys.argv[1:6])
    given = json.loads(os.pread(plan_fd, os.fstat(plan_fd).st_size, 0))
    os.close(plan_fd)
    plan = ArgumentPlan.model_validate(given["plan"])
    active = os.environ.pop("KE_ISOLATION", "").split()
    memory: Any
    if arena_fd < 0:
        memory = on_device(given["handle"], arena_bytes, active, filter_calls=sys.argv[6] == "1")
    else:
        memory = np.frombuffer(mmap.mmap(arena_fd, arena_bytes), dtype=np.uint8)
        os.close(arena_fd)
        torch.empty(8).add_(1)  # what torch imports late, it imports now
        active += confine(
            memory_bytes=given["memory_bytes"], cpu_s=CPU_S, readable=readable_paths(),
            filter_calls=sys.argv[6] == "1", file_bytes=LOG_BYTES,
        )  # fmt: skip
    torch.set_num_threads(given["n_threads"])  # starts threads of its own: they are born behind the walls
    os.write(reply, ("I" + " ".join(active) + "\n").encode())
    try:
        function = load(given["files"], given["entry"])
    except BaseException as error:  # noqa: BLE001 - border: whatever a candidate's module raises is reported
        os.write(reply, f"F {answer_line(error)}\n".encode())
        os._exit(0)
    os.write(reply, b"L\n")
    with torch.no_grad():
        if arena_fd < 0:
            calls = python_device.Calls(plan, memory, lambda arguments: _call(function, arguments))
            python_device.serve(control, reply, calls)
        else:
            serve(control, reply, plan, memory, function)
    os._exit(0)


def on_device(handle: str, n_bytes: int, active: list[str], *, filter_calls: bool) -> torch.Tensor:
    """The arena of a device, with all rights given up that the driver and compilers do not need. The driver starts
    threads of its own, which keep what they were born with: so most of it goes before, and the filter comes last."""
    scratch = python_device.lend_scratch()
    active += confine(
        memory_bytes=resource.RLIM_INFINITY, cpu_s=CPU_S, readable=[*readable_paths(), *_PROGRAMS],
        filter_calls=False, file_bytes=python_device.FILE_BYTES, writable=[scratch], devices=python_device.devices(),
        programs=bool(scratch),
    )  # fmt: skip
    memory = python_device.opened_warm(handle, n_bytes)
    active += filter_all_threads(programs=bool(scratch)) if filter_calls else []
    return memory


def serve(
    control: int, reply: int, plan: ArgumentPlan, memory: np.ndarray[Any, Any], function: Callable[..., Any]
) -> None:
    slots: dict[int, tuple[Any, ...]] = {}
    ranges: dict[int, tuple[int, int]] = {}
    with os.fdopen(control, "r", encoding="ascii") as lines:
        for line in lines:
            words = line[1:].split()
            if line[0] == "A":
                slots[int(words[0])] = plan.arguments(words, memory)
                ranges[int(words[0])] = (int(words[1]), int(words[2]))
                continue
            order = [int(word) for word in words[1:]]
            done, code = 0, 0
            for slot in order:
                if line[0] == "T":
                    start, n_bytes = ranges[slot]
                    memory[start : start + n_bytes : 64].sum()
                elif (code := _call(function, slots[slot])) != 0:
                    break
                done += 1
            os.write(reply, f"D {done} {code}\n".encode())


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """0 when done. What an entry point returns is looked at for nothing else: answers are bytes in the outputs."""
    try:
        result = function(*arguments)
    except Exception as error:  # noqa: BLE001 - border: a candidate that raises has refused
        with contextlib.suppress(OSError):  # the log is full
            os.write(2, (answer_line(error) + "\n").encode())
        return RAISED
    if result is None or (type(result) is int and result == 0):
        return 0
    return RETURNED


if __name__ == "__main__":
    main()
