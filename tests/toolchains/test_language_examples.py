"""The same operator in every language that makes device code: compiled here, run by benchmarks/gpu_languages.sh."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelevolve.interfaces.cli.candidates import read_candidate
from kernelevolve.tasks import load_task
from kernelevolve.testing.toolchain_case import BUILD_TIMEOUT_S
from kernelevolve.toolchains import TOOLCHAINS, make_toolchain
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cubin import kernel_facts
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path

EXAMPLES = Path(__file__).parent / "dsl_examples"


@pytest.mark.parametrize(
    "language", sorted(name for name in TOOLCHAINS if (EXAMPLES / name).is_dir() and name != "python")
)
def test_it_compiles_and_holds_its_row_in_registers(language: str, tmp_path: Path) -> None:
    toolchain = make_toolchain(language, cache=tmp_path)
    if toolchain.problem() is not None and os.environ.get("KERNELEVOLVE_OFFLINE"):
        pytest.skip(f"{toolchain.problem()} (KERNELEVOLVE_OFFLINE is set)")
    task = load_task("rms_norm", platform="cuda")
    candidate = read_candidate(EXAMPLES / language / "rms_norm", language=language)
    assert toolchain.inspect(task, candidate) is None
    artifact = toolchain.build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
    assert isinstance(artifact, Artifact), artifact
    built = DeviceBuilt.from_json(Path(artifact.path).read_text())
    (facts,) = kernel_facts(cubin_path(Path(artifact.path), built.kernels[0]).read_bytes())
    assert facts.registers is not None
    assert facts.registers < 64
