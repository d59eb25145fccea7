"""The GPU as a platform, where there is none: said plainly, and never measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.platforms import make_platform
from kernelevolve.platforms.cuda import CudaPlatform
from kernelevolve.toolchains.libcuda import Gpu, gpu


@pytest.mark.skipif(gpu() is not None, reason="there is a GPU")
def test_without_a_gpu_doctor_says_so_and_nothing_is_measured(tmp_path: Path) -> None:
    platform = CudaPlatform(cache=tmp_path)
    check = next(check for check in platform.checks() if check.name == "gpu")
    assert not check.ok
    assert check.fix
    with pytest.raises(MachineError, match="NVIDIA"):
        platform.facts()
    assert make_platform("cuda").kind == "cuda"


def test_doctor_says_what_a_module_needs_around_it(tmp_path: Path) -> None:
    checks = {check.name: check for check in CudaPlatform(cache=tmp_path).checks()}
    assert {"torch", "namespaces", "landlock", "jit"} <= set(checks)
    for name in ("namespaces", "landlock", "jit"):
        assert bool(checks[name].fix) is not checks[name].ok
        assert "Python modules" in checks[name].detail + checks[name].fix or checks[name].ok
    code = "import sys; from kernelevolve.platforms.cuda import CudaPlatform; CudaPlatform().checks(); " + (
        "print('torch' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "False"


def test_code_is_compiled_for_the_very_generation() -> None:
    given = {"model": "m", "n_cores": 1, "l2_bytes": 1, "memory_bytes": 1, "driver": "13.0"}
    hopper, older = Gpu(**given, major=9, minor=0), Gpu(**given, major=8, minor=6)
    assert (hopper.architecture, hopper.isa) == ("sm_90a", "sm_90")
    assert older.architecture == "sm_86"
