"""What every device-code language builds: machine code for one architecture, and a plan in which nothing is open.

The record is a small JSON file; the machine code lies beside it, named by its hash. Both are a candidate's word: who
loads them checks every number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from pydantic import Field

from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.launch import LaunchPlan
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import CompileMessage
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cache import replace_file

MAX_CUBIN_BYTES = 64 * 2**20
HOST_CODE = b".nv.host"
"""A section of machine code that holds code for the processor: a driver would call it in the process that launches."""


class DeviceKernel(Value):
    """`function`: its name in the machine code."""

    function: str = Field(min_length=1, max_length=4096)
    cubin_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class DeviceBuilt(Value):
    """`kernels` in the order of `plan.kernels`. The plan says block, shared memory and every argument."""

    plan: LaunchPlan
    kernels: tuple[DeviceKernel, ...]
    architecture: str
    compiler: str = ""
    messages: tuple[CompileMessage, ...] = ()


def machine_code_id(record: Path) -> str:
    """The same for two artifacts that do the same by the same machine code, whatever the sources were."""
    built = DeviceBuilt.from_json(record.read_text())
    return sha256(built.model_copy(update={"messages": ()}).to_json().encode())


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def cubin_path(record: Path, kernel: DeviceKernel) -> Path:
    return record.parent / f"{kernel.cubin_sha256}.cubin"


def keep(record: Path, built: DeviceBuilt, cubins: Collection[bytes], *, seconds: float) -> Artifact:
    """Write machine code first, the record last: a record that is there is whole. Raises MachineError when there is
    host code in it: no toolchain of ours may let it through."""
    if any(HOST_CODE in data for data in cubins):
        raise MachineError("machine code with host code in it was built; it is not kept")
    record.parent.mkdir(parents=True, exist_ok=True)
    for data in cubins:
        replace_file(record.parent / f"{sha256(data)}.cubin", data)
    text = built.to_json().encode()
    replace_file(record, text)
    return Artifact(path=str(record), sha256=sha256(text), seconds=seconds, cached=False, messages=built.messages)


def keep_failure(record: Path, failure: BuildFailure) -> BuildFailure:
    record.parent.mkdir(parents=True, exist_ok=True)
    replace_file(record, failure.to_json().encode())
    return failure


def recall(record: Path) -> Artifact | BuildFailure | None:
    """What was kept there; None when there is nothing, or something damaged or written by another version."""
    if not record.exists():
        return None
    data = record.read_bytes()
    try:
        if b'"kernels"' not in data:
            return BuildFailure.from_json(data)
        built = DeviceBuilt.from_json(data)
    except RecordError:
        return None
    for kernel in built.kernels:
        cubin = cubin_path(record, kernel)
        machine_code = cubin.read_bytes() if cubin.exists() else b""
        if sha256(machine_code) != kernel.cubin_sha256 or HOST_CODE in machine_code:
            return None
    return Artifact(path=str(record), sha256=sha256(data), seconds=0.0, cached=True, messages=built.messages)
