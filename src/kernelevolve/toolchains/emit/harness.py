"""The process in which a candidate's Python runs once, to be compiled. Ours until its module runs, hostile then.

argv: request.json and the descriptor to answer on. The answer is "ready", one line of JSON, and then the blobs it names
the sizes of; whoever reads it trusts none of it.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import json
import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_SYSTEM = (
    "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime",
    "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/null", "/dev/urandom",
)  # fmt: skip
TEXT_LIMIT = 2000
READY = b"ready\n"


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The candidate's files as modules, from memory: no file is written, and the compiler finds their lines."""

    def __init__(self, files: list[dict[str, str]]) -> None:
        self.files = {Path(file["path"]).stem: file for file in files}
        for file in files:
            lines = file["text"].splitlines(keepends=True)
            linecache.cache[file["path"]] = (len(file["text"]), None, lines, file["path"])

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.files:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=self.files[name]["path"])

    def exec_module(self, module: ModuleType) -> None:
        file = self.files[module.__name__]
        module.__file__ = file["path"]
        exec(compile(file["text"], file["path"], "exec"), module.__dict__)


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    reply = int(sys.argv[2])
    emitter = load_file("ke_emitter", request["emitter"])
    confinement = load_file("ke_confine", request["confine"])
    sources = Sources(request["files"])
    state = emitter.prepare(request)
    readable = readable_paths()
    isolation = []
    if request["bare_root"] or confinement.landlock_version(ctypes.CDLL(None)) < 1:
        bare = load_file("ke_bare_root", str(Path(request["confine"]).with_name("bare_root.py")))
        if bare.enter(Path(sys.argv[1]).with_name("root"), readable):
            isolation, readable = ["bare-root"], ["/"]
    isolation += confinement.confine(
        memory_bytes=request["memory_bytes"], cpu_s=request["cpu_s"], file_bytes=request["log_bytes"],
        readable=readable, frozen_files=True,
    )  # fmt: skip
    answer: dict[str, Any] = {"isolation": isolation}
    os.write(reply, READY)  # from here on a failure is the candidate's
    sys.meta_path.append(sources)
    modules: dict[str, ModuleType] = {}
    blobs: list[bytes] = []
    try:
        for name in sources.files:
            modules[name] = importlib.import_module(name)
        emitted = [emitter.emit(state, modules, launch) for launch in request["launches"]]
        answer["facts"] = [facts for facts, _ in emitted]
        blobs = [bytes(blob) for _, blob in emitted]
    except BaseException as error:  # noqa: BLE001 - border: whatever a candidate's module raises is reported
        answer["error"] = describe(error, [file["path"] for file in request["files"]])
        found = emitter.place(state, modules, error) if hasattr(emitter, "place") else None
        if found:
            answer["error"] |= {"file": str(found[0]), "line": int(found[1])}
            answer["error"] |= {"message": str(found[2])[:TEXT_LIMIT]} if found[2:] else {}
    answer["sizes"] = [len(blob) for blob in blobs]
    sys.stdout.flush()
    sys.stderr.flush()
    send(reply, b"".join([json.dumps(answer).encode(), b"\n", *blobs]))
    os._exit(0)  # nothing registered with atexit gets a turn


def load_file(name: str, path: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def readable_paths() -> list[str]:
    """The interpreter, its packages but for kernelevolve's, whose files name shapes, and the system's libraries."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    packages = [str(path) for folder in folders for path in Path(folder).iterdir() if "kernelevolve" not in path.name]
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    found = [
        str(path)
        for folder in standard
        if Path(folder).is_dir()
        for path in Path(folder).iterdir()
        if path.name not in ("site-packages", "dist-packages")
    ]
    shared = [str(path) for path in Path(sys.base_prefix, "lib").glob("*.so*")]
    return [*packages, *found, *shared, *_SYSTEM]


def describe(error: BaseException, files: list[str]) -> dict[str, Any]:
    """The innermost place in the candidate's own files, as far as Python knows one."""
    if isinstance(error, SyntaxError) and error.filename in files:
        return {"message": f"SyntaxError: {error.msg}"[:TEXT_LIMIT], "file": error.filename, "line": error.lineno or 0}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    text = f"{type(error).__name__}: {error}"[:TEXT_LIMIT]
    where = {"file": frames[-1].filename, "line": frames[-1].lineno or 0} if frames else {"file": "", "line": 0}
    return {"message": text, **where}


def send(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


if __name__ == "__main__":
    main()
