"""The confined child process that runs a KernelBench problem. Started by path, never imported.

Arguments: descriptor to answer on, folder with kernelbench_model.py, memory in bytes, seconds. The answer is one
JSON object with either "facts" or "fault"; whoever reads it trusts none of it.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

MODEL = "kernelbench_model"
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev/null", "/dev/urandom", "/opt")


def main(arguments: list[str]) -> None:
    handle, folder, memory_bytes, seconds = int(arguments[0]), arguments[1], int(arguments[2]), float(arguments[3])
    package_root = str(Path(__file__).parents[2])
    sys.path.insert(0, package_root)
    from kernelevolve.toolchains.confine import confine

    readable = [*sys.path, package_root, sys.prefix, sys.base_prefix, sys.exec_prefix, folder, *_SYSTEM]
    confine(memory_bytes=memory_bytes, cpu_s=int(seconds * (os.cpu_count() or 1)) + 1, readable=readable)
    sys.path.insert(0, folder)
    data = json.dumps(_answer(time.monotonic() + seconds / 3), allow_nan=False).encode()
    while data:
        data = data[os.write(handle, data) :]
    os._exit(0)  # nothing the problem registered with atexit gets a turn


def _answer(deadline: float) -> dict[str, object]:
    """This is the border behind which untrusted code runs, so everything it can raise ends here."""
    try:
        module = import_module(MODEL)
        facts = import_module("kernelevolve.tasks.kernelbench_facts")
    except BaseException as error:  # noqa: BLE001
        return {"fault": _explain(error)}
    try:
        return {"facts": facts.examine(module, deadline=deadline)}
    except facts.Unsuitable as error:
        return {"fault": str(error)}
    except BaseException as error:  # noqa: BLE001
        return {"fault": _explain(error)}


def _explain(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename.endswith(f"{MODEL}.py")]
    where = f"line {lines[-1]}: " if lines else ""
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return f"{where}needs more memory than a problem may use; use smaller sizes"
    if isinstance(error, SystemExit):
        return f"{where}ends the Python process (sys.exit); remove the call"
    return f"{where}{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(sys.argv[1:])
