"""This machine's CPU: facts from the kernel, ceilings by measurement, and what `doctor` should say."""

from __future__ import annotations

import importlib.util
import os
import platform as host
import re
import sys
import tempfile
from pathlib import Path

from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.platforms.base import Check
from kernelevolve.platforms.isolation import isolation_checks
from kernelevolve.toolchains.cache import default_cache
from kernelevolve.toolchains.cpp import CppToolchain, compiler_identity, find_compiler
from kernelevolve.toolchains.process import run_tool

KNOWN_ISA = (
    "sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd", "avx512vbmi",
    "avx512_vbmi2", "avx512ifma", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "asimd", "sve",
)  # fmt: skip


class CpuPlatform:
    name = "cpu"
    kind = "cpu"

    def __init__(self, *, cache: Path | None = None) -> None:
        self._cache = cache or default_cache()

    def facts(self) -> PlatformFacts:
        compiler = find_compiler()
        read = PlatformFacts(
            name=self.name, kind=self.kind, model=_model(), n_cores=len(os.sched_getaffinity(0)), isa=_isa(),
            l1d_bytes=_cache_bytes(1, "Data"), l2_bytes=_cache_bytes(2, "Unified"), l3_bytes=_cache_bytes(3, "Unified"),
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            compilers=(compiler_identity(compiler).split('"')[3],) if compiler else (),
        )  # fmt: skip
        kept = self._cache / "machines" / f"{read.content_id}.json"
        if kept.exists():
            try:
                return PlatformFacts.from_json(kept.read_text())
            except RecordError:
                kept.unlink()  # written by another version: measure again
        measured = read.model_copy(update=_measure_rates(compiler)) if compiler else read
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(measured.to_json())
        return measured

    def checks(self) -> list[Check]:
        problem = CppToolchain(cache=self._cache).problem()
        torch = importlib.util.find_spec("torch")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return [
            Check(name="python", ok=sys.version_info >= (3, 11), detail=version, fix="install Python 3.11 or 3.12"),
            Check(name="c++ compiler", ok=problem is None, detail=problem or find_compiler() or "", fix=problem or ""),
            Check(
                name="torch",
                ok=torch is not None,
                detail="found" if torch else "not installed: no reference can be run",
                fix="" if torch else "pip install 'kernelevolve[cpu]'",
            ),
            Check(
                name="cores",
                ok=len(os.sched_getaffinity(0)) >= 2,
                detail=f"{len(os.sched_getaffinity(0))} usable",
                fix="the judge and a candidate share one core: expect noisier timings",
            ),
            *isolation_checks(),
        ]


def _measure_rates(compiler: str) -> dict[str, float]:
    source = Path(__file__).with_name("rates.cpp")
    with tempfile.TemporaryDirectory(prefix="ke-rates-") as name:
        folder = Path(name)
        built = run_tool(
            [compiler, "-std=c++20", "-O3", "-march=native", "-fopenmp", str(source), "-o", "rates"],
            folder=folder, timeout_s=60,
        )  # fmt: skip
        if built.returncode != 0:
            raise MachineError(f"cannot compile the rate measurement: {built.text[:300]}")
        finished = run_tool([str(folder / "rates")], folder=folder, timeout_s=60)
    numbers = finished.text.split()
    if finished.returncode != 0 or len(numbers) != 4:
        raise MachineError(f"the rate measurement ended with {finished.returncode}: {finished.text[:300]}")
    names = ("copy_gb_per_s", "cached_copy_gb_per_s", "fma_gflop_per_s", "nearest_copy_gb_per_s")
    return {name: float(number) for name, number in zip(names, numbers, strict=True)}


def _cpuinfo(field: str) -> str:
    path = Path("/proc/cpuinfo")
    text = path.read_text() if path.exists() else ""
    match = re.search(rf"^{field}\s*:\s*(.*)$", text, re.M)
    return match[1].strip() if match else ""


def _model() -> str:
    return _cpuinfo("model name") or host.processor() or host.machine()


def _isa() -> tuple[str, ...]:
    flags = set((_cpuinfo("flags") or _cpuinfo("Features")).split())
    return tuple(name for name in KNOWN_ISA if name in flags)


def _cache_bytes(level: int, kind: str) -> int | None:
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (folder / "level").read_text().strip() == str(level) and (folder / "type").read_text().strip() == kind:
            size = (folder / "size").read_text().strip()
            return int(size[:-1]) * {"K": 1024, "M": 2**20}[size[-1]] if size[-1] in "KM" else int(size)
    return None
