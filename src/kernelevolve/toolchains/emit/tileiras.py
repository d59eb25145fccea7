"""Becomes the assembler of Tile IR, after giving up what it does not need. argv: the request.

It starts ptxas and reads a library beside its own folder, so system calls are not filtered here: Landlock, no
capabilities and the limits remain, for both programs. Its input is foreign; the program is not.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

OUTPUT_BYTES = 256 * 2**20
_EXECUTABLE = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/bin", "/bin")
_READABLE = ("/etc/ld.so.cache", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev")


def main() -> None:
    request = json.loads(sys.argv[1])
    program = Path(request["command"][0])
    spec = importlib.util.spec_from_file_location("ke_confine", request["confine"])
    assert spec is not None
    assert spec.loader is not None
    confinement: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(confinement)
    confinement.confine(
        memory_bytes=request["memory_bytes"], cpu_s=request["cpu_s"], file_bytes=OUTPUT_BYTES, filter_calls=False,
        readable=[*_READABLE, str(program.parent.parent)], writable=[request["folder"]],
        executable=[str(program.parent), *_EXECUTABLE],
    )  # fmt: skip
    os.environ["TMPDIR"] = request["folder"]
    os.execv(program, request["command"])


if __name__ == "__main__":
    main()
