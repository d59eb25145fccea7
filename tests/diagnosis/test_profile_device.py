"""Kernels built to have one fault each, profiled on a real GPU: the fault is found. Their code is read without one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache as once
from pathlib import Path

import pytest

from kernelevolve.campaign.profile import Profiled, Wanted, profile
from kernelevolve.diagnosis.found import TIME
from kernelevolve.diagnosis.ncu import find_ncu
from kernelevolve.interfaces.cli.candidates import read_candidate
from kernelevolve.model.diagnosis import Cause
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.platforms import make_platform
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.libcuda import gpu
from kernelevolve.toolchains.nvrtc import find_nvrtc

HERE = Path(__file__).parent
KERNELS = sorted(path.name for path in (HERE / "kernels").iterdir() if path.is_dir())
SHAPE = {"R": 4096, "C": 8192}
needs_profiler = pytest.mark.skipif(gpu() is None or find_ncu() is None, reason="needs an NVIDIA GPU and ncu")
needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")


def expected(name: str) -> set[Cause]:
    text = (HERE / "kernels" / name / "kernel.cu").read_text()
    match = re.match(r"// expect: ([a-z_ ]+)\n", text)
    assert match is not None
    return {Cause(word) for word in match[1].split()}


def row_scale() -> Task:
    return load_task(str(HERE.parent / "attacks" / "tasks" / "row_scale"), platform="cuda")


def wanted(shape: dict[str, int], names: Sequence[str] = KERNELS) -> Wanted:
    candidates = {name: read_candidate(HERE / "kernels" / name / "kernel.cu") for name in names}
    return Wanted(task=row_scale(), shape=shape, candidates=candidates)


@once
def measured(folder: Path) -> Profiled:
    """All of them in one process of the profiler, every counter."""
    facts = make_platform("cuda").facts()
    return profile(wanted(SHAPE), facts=facts, depth="full", cache=folder, everything=True)


@pytest.mark.device
@needs_profiler
@pytest.mark.parametrize("name", KERNELS)
def test_the_fault_that_was_built_in_is_found(name: str, cache: Path) -> None:
    diagnosis = measured(cache).diagnoses[name]
    assert {diagnosis.cause, *diagnosis.also} & expected(name), diagnosis
    assert diagnosis.scope == "counters"


@pytest.mark.device
@needs_profiler
def test_the_profilers_agree_and_the_bytes_are_the_counted_ones(cache: Path) -> None:
    found = measured(cache).found["vector"]
    launch = found.launches[0]
    ncu_us = (launch.get("gpu__time_duration.sum") or 0.0) / 1e3
    counted = found.call.get("counted_bytes") or 0.0
    moved = (launch.get("dram__bytes_read.sum") or 0.0) + (launch.get("dram__bytes_write.sum") or 0.0)
    assert ncu_us > 0
    assert (launch.get(TIME) or 0.0) == pytest.approx(ncu_us, rel=0.3)
    assert 0.6 * counted < moved < 1.2 * counted  # part of what is written may stay in the cache
    assert 30.0 < (found.call.get("copy_dram_pct") or 0.0) <= 100.0


@needs_nvrtc
def test_what_the_code_shows_needs_no_device(cache: Path) -> None:
    facts = PlatformFacts(name="cuda", kind="cuda", n_cores=132, isa=("sm_90",), copy_gb_per_s=4000.0)
    chosen = wanted({"R": 64, "C": 128}, ("one_block", "local_array", "vector"))
    found = profile(chosen, facts=facts, depth="code", cache=cache)
    assert found.diagnoses["one_block"].cause is Cause.SMALL_GRID
    assert (found.found["local_array"].launches[0].get("local_bytes") or 0) >= 256
    assert found.found["vector"].launches[0].get("local_bytes") == 0
