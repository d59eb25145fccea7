"""What is kept of device code: whole or not at all, and never with code for the processor in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.model.launch import read_plan
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.device_artifact import DeviceBuilt, DeviceKernel, cubin_path, keep, recall, sha256

PLAN = read_plan('[[launch]]\nkernel = "k"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n')
CODE = b"\x7fELF machine code"


def built(code: bytes) -> DeviceBuilt:
    return DeviceBuilt(
        plan=PLAN, kernels=(DeviceKernel(function="k", cubin_sha256=sha256(code)),), architecture="sm_90a"
    )


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    record = tmp_path / "deep" / "a.json"
    kept = keep(record, built(CODE), [CODE], seconds=1.0)
    found = recall(record)
    assert isinstance(found, Artifact)
    assert (found.sha256, found.cached) == (kept.sha256, True)


def test_host_code_is_neither_kept_nor_taken(tmp_path: Path) -> None:
    record, code = tmp_path / "a.json", CODE + b"\0.nv.host\0"
    with pytest.raises(MachineError, match="host code"):
        keep(record, built(code), [code], seconds=1.0)
    keep(record, built(CODE), [CODE], seconds=1.0)
    cubin_path(record, built(code).kernels[0]).write_bytes(code)
    record.write_text(built(code).to_json())
    assert recall(record) is None
