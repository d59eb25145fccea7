"""The first NVIDIA GPU of this machine: facts from the driver, measured ceilings, and what `doctor` should say."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.platforms.base import Check
from kernelevolve.platforms.isolation import device_host_checks
from kernelevolve.toolchains.cache import default_cache
from kernelevolve.toolchains.cpp import find_compiler
from kernelevolve.toolchains.cuda import MISSING
from kernelevolve.toolchains.libcuda import Gpu, gpu
from kernelevolve.toolchains.nvrtc import find_nvrtc
from kernelevolve.toolchains.process import run_tool

NO_GPU = "no NVIDIA GPU or no driver: nvidia-smi must list one"
RATES_TIMEOUT_S = 60.0


class CudaPlatform:
    name = "cuda"
    kind = "cuda"

    def __init__(self, *, cache: Path | None = None) -> None:
        self._cache = cache or default_cache()

    def facts(self) -> PlatformFacts:
        found = gpu()
        if found is None:
            raise MachineError(NO_GPU)
        read = _read(found)
        kept = self._cache / "machines" / f"{read.content_id}.json"
        if kept.exists():
            try:
                return PlatformFacts.from_json(kept.read_text())
            except RecordError:
                kept.unlink()  # written by another version: measure again
        measured = read.model_copy(update=_measure_rates())
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(measured.to_json())
        return measured

    def checks(self) -> list[Check]:
        found, nvrtc, compiler = gpu(), find_nvrtc(), find_compiler()
        torch = _torch_for_cuda()
        headers = nvrtc is not None and bool(nvrtc.headers)
        return [
            Check(
                name="gpu", ok=found is not None, fix="" if found else "install the NVIDIA driver",
                detail=f"{found.model}, {found.isa}, driver for CUDA {found.driver}" if found else NO_GPU,
            ),
            Check(
                name="nvrtc", ok=nvrtc is not None, detail=f"{nvrtc.version} ({nvrtc.library})" if nvrtc else MISSING,
                fix="" if nvrtc else "pip install nvidia-cuda-nvrtc",
            ),
            Check(
                name="cuda headers", ok=headers, detail="found" if headers else "none: no <cuda_fp16.h> in a kernel",
                fix="" if headers else "pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl",
            ),
            Check(
                name="c++ compiler", ok=compiler is not None, detail=compiler or "none: the runner cannot be built",
                fix="" if compiler else "apt-get install g++",
            ),
            Check(
                name="torch", ok=torch, detail="built for CUDA" if torch else "none with CUDA: no baseline can run",
                fix="" if torch else "pip install torch",
            ),
            *device_host_checks(),
        ]  # fmt: skip


def _read(found: Gpu) -> PlatformFacts:
    nvrtc = find_nvrtc()
    compilers = (f"NVRTC {nvrtc.version}", f"driver for CUDA {found.driver}") if nvrtc else ()
    return PlatformFacts(
        name="cuda", kind="cuda", model=found.model, n_cores=found.n_cores, isa=(found.isa,), l2_bytes=found.l2_bytes,
        memory_bytes=found.memory_bytes, compilers=compilers,
    )  # fmt: skip


def _measure_rates() -> dict[str, float]:
    """In a process of its own, so that no context stays in this one. The second-level cache is the nearest that holds
    content which a copy has just brought: what is nearer starts empty in every launch."""
    with tempfile.TemporaryDirectory(prefix="ke-rates-") as folder:
        command = [sys.executable, "-m", "kernelevolve.platforms.cuda_rates"]
        finished = run_tool(command, folder=Path(folder), timeout_s=RATES_TIMEOUT_S, limited=False)
    numbers = finished.text.split()
    if finished.returncode != 0 or len(numbers) != 2:
        raise MachineError(f"the GPU's rate measurement ended with {finished.returncode}: {finished.text[:300]}")
    beyond, cached = (float(number) for number in numbers)
    return {"copy_gb_per_s": beyond, "cached_copy_gb_per_s": cached, "nearest_copy_gb_per_s": cached}


def _torch_for_cuda() -> bool:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    version = Path(spec.origin).with_name("version.py")
    return version.exists() and "cuda: Optional[str] = None" not in version.read_text().replace("'", '"')
