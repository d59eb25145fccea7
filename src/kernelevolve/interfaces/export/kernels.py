"""A winner's files, and what the package's dispatcher has to know to call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelevolve.errors import RecordError, UsageError
from kernelevolve.interfaces.export.package import Winner
from kernelevolve.model.launch import LaunchPlan
from kernelevolve.toolchains import TOOLCHAINS, abi, make_toolchain
from kernelevolve.toolchains.base import BuildFailure
from kernelevolve.toolchains.cpp import BASE_FLAGS
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path

BUILD_TIMEOUT_S = 300.0
Files = dict[str, str | bytes]
"""Path inside the package -> content."""


def kernel_files(winner: Winner, folder: str, *, cache: Path) -> tuple[Files, dict[str, Any]]:
    """(the files, what the specification says of the kernel). `folder` ends with a slash or is empty. Raises
    UsageError for a kernel that has no form without kernelevolve, MachineError when its compiler is missing."""
    common = {"key": winner.key, "candidate_id": winner.row.candidate.id, "rule": winner.rule, "folder": folder}
    if winner.row.candidate.language == "cpp":
        files, data = _cpp(winner)
    elif winner.row.candidate.language == "python":
        files, data = _python(winner)
    else:
        files, data = _device(winner, cache)
    return {f"{folder}{name}": content for name, content in files.items()}, {**common, **data}


def _cpp(winner: Winner) -> tuple[Files, dict[str, Any]]:
    """A single file becomes kernel.cpp; several keep their paths inside kernel/."""
    candidate = winner.row.candidate
    if len(candidate.files) == 1:
        texts: Files = {"kernel.cpp": candidate.files[0].text}
    else:
        texts = {f"kernel/{file.path}": file.text for file in candidate.files}
    texts |= {"ke_abi.h": abi.header(winner.task), "ke_shim.cpp": abi.shim(winner.task)}
    sources = [path for path in texts if path.endswith((".cpp", ".cc"))]
    return texts, {"backend": "cpp", "sources": sources, "flags": [*BASE_FLAGS, *candidate.flags]}


def _python(winner: Winner) -> tuple[Files, dict[str, Any]]:
    """A single file becomes kernel.py; several keep their names, which they import each other by, inside kernel/."""
    files = winner.row.candidate.files
    texts: Files = (
        {"kernel.py": files[0].text} if len(files) == 1 else {f"kernel/{one.path}": one.text for one in files}
    )
    return texts, {"backend": "python", "modules": list(texts), "entry": winner.task.entry}


def _device(winner: Winner, cache: Path) -> tuple[Files, dict[str, Any]]:
    """Machine code and plan, as every language of the device lane builds them; the sources are there to be read."""
    candidate, step = winner.row.candidate, winner.row.step
    toolchain = make_toolchain(candidate.language, cache=cache) if candidate.language in TOOLCHAINS else None
    if toolchain is None or toolchain.lane != "device_code":
        raise UsageError(
            f"step {step} is language '{candidate.language}'; only cpp, python and device code can be exported"
        )
    artifact = toolchain.build(winner.task, candidate, timeout_s=BUILD_TIMEOUT_S)
    if isinstance(artifact, BuildFailure):
        raise UsageError(f"step {step} does not compile on this machine: {artifact.messages[0].message}")
    record = Path(artifact.path)
    try:
        built = DeviceBuilt.from_json(record.read_bytes())
    except RecordError as error:
        raise UsageError(f"step {step}: a kernel in '{candidate.language}' has no machine code to export") from error
    _same_chip(winner, built)
    names = {kernel.cubin_sha256: f"{kernel.cubin_sha256[:16]}.cubin" for kernel in built.kernels}
    files: Files = {names[kernel.cubin_sha256]: cubin_path(record, kernel).read_bytes() for kernel in built.kernels}
    files["plan.json"] = json.dumps(plan_data(built, names), indent=1) + "\n"
    inside = "" if candidate.language == "cuda" else "source/"
    files |= {f"{inside}{file.path}": file.text for file in candidate.files}
    return files, {"backend": "cubin", "architecture": built.architecture, "language": candidate.language}


def _same_chip(winner: Winner, built: DeviceBuilt) -> None:
    measured_on = winner.record.opened.facts.isa
    chips = [name for name in measured_on if name.startswith("sm_")]
    if chips and not any(built.architecture.rstrip("af") == chip for chip in chips):
        raise UsageError(
            f"step {winner.row.step} was measured on {chips[0]} and would be compiled for {built.architecture} here: "
            f"export it on the kind of machine it was measured on"
        )


def plan_data(built: DeviceBuilt, names: dict[str, str]) -> dict[str, Any]:
    """The launch plan as plain values; `names`: the files of the machine code by hash."""
    plan: LaunchPlan = built.plan
    order = list(plan.kernels)
    return {
        "schema": "kernelevolve.plan/1",
        "architecture": built.architecture,
        "compiler": built.compiler,
        "kernels": [
            {"function": kernel.function, "cubin": names[kernel.cubin_sha256], "sha256": kernel.cubin_sha256}
            for kernel in built.kernels
        ],
        "launches": [
            {"kernel": order.index(launch.kernel), "grid": list(launch.grid), "block": list(launch.block),
             "shared_bytes": launch.shared_bytes, "args": [one.model_dump() for one in launch.arguments]}
            for launch in plan.launch
        ],
        "scratch": [{"name": item.name, "bytes": item.bytes} for item in plan.scratch],
        "constants": {item.name: item.value for item in plan.constant},
    }  # fmt: skip
