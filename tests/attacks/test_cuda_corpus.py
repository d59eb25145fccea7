"""The half of the corpus that needs a GPU, as far as it can be looked at without one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.selftest.corpus import ON_GPU, Entry, attacks, default_root, honest
from kernelevolve.tasks import load_task
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.base import BuildFailure
from kernelevolve.toolchains.nvrtc import find_nvrtc

ATTACKS = [entry for entry in attacks(default_root()) if entry.lane in ON_GPU]
HONEST = [entry for entry in honest(default_root()) if entry.lane in ON_GPU]
OF_HOST = [entry for entry in ATTACKS if entry.lane == "cuda_python"]
BEFORE_IT_RUNS = {"rejected", "build_failed"}
needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= 105
    assert len({entry.row for entry in ATTACKS}) >= 32, "rows of the catalogue"
    assert len([entry for entry in ATTACKS if entry.naive != "hostile"]) >= 70
    assert len(OF_HOST) >= 50
    assert len({entry.row for entry in OF_HOST}) >= 24, "rows of the catalogue"
    assert len([entry for entry in OF_HOST if entry.naive != "hostile"]) >= 40


@pytest.mark.parametrize("name", sorted({str(entry.task_folder) for entry in (*ATTACKS, *HONEST)}))
def test_every_task_has_a_gpu_section(name: str) -> None:
    task = load_task(name, platform="cuda")
    assert task.shapes.search
    assert task.shapes.sealed
    assert task.objective.clock == "device"


def test_no_two_entries_are_the_same_candidate() -> None:
    """Of a language and a task: the judge would run it once, and the second entry would show nothing."""
    ids = Counter((entry.candidate().id, str(entry.task_folder)) for entry in (*ATTACKS, *HONEST))
    assert [key for key, count in ids.items() if count > 1] == []


@pytest.mark.parametrize("entry", ATTACKS, ids=lambda entry: entry.name)
def test_only_what_may_be_rejected_is(entry: Entry, tmp_path: Path) -> None:
    """An attack that is meant for the judge must get past the first look: being malformed proves nothing."""
    task = load_task(str(entry.task_folder), platform="cuda")
    fault = make_toolchain(ON_GPU[entry.lane], cache=tmp_path).inspect(task, entry.candidate())
    assert fault is None or "rejected" in entry.caught, fault
    assert fault is None or entry.naive == "hostile", fault


@pytest.mark.parametrize("entry", OF_HOST, ids=lambda entry: entry.name)
def test_host_code_is_kept_as_it_is_and_measured_against_host_code(entry: Entry, tmp_path: Path) -> None:
    """Nothing is compiled ahead; a clock outside the process cannot compare it with device code."""
    task = load_task(str(entry.task_folder), platform="cuda")
    built = make_toolchain("python", cache=tmp_path).build(task, entry.candidate(), timeout_s=10.0)
    assert not isinstance(built, BuildFailure), built.messages
    assert [rival.language for rival in entry.rivals] == ["python"]
    assert entry.rivals[0].id != entry.candidate().id


KERNEL = re.compile(r'SOURCE = """(.*?)"""', re.DOTALL)


@pytest.mark.slow
@needs_nvrtc
@pytest.mark.parametrize("entry", [e for e in (*OF_HOST, *HONEST) if e.lane == "cuda_python"], ids=lambda e: e.name)
def test_a_kernel_inside_host_code_compiles(entry: Entry, cache: Path) -> None:
    for text in KERNEL.findall(entry.source.read_text()):
        files = (SourceFile(path="kernel.cu", text=text), SourceFile(path="launch.toml", text=launches(text)))
        candidate = Candidate(language="cuda", files=files, origin=Origin(proposer="test"))
        task = load_task(str(entry.task_folder), platform="cuda")
        built = make_toolchain("cuda", cache=cache).build(task, candidate, timeout_s=60.0)
        assert not isinstance(built, BuildFailure), built.messages


def launches(text: str) -> str:
    name = re.search(r"__global__ void (\w+)\(", text)
    assert name is not None
    return f'[[launch]]\nkernel = "{name[1]}"\ngrid = ["1", "1", "1"]\nblock = ["1", "1", "1"]\nargs = []\n'


@pytest.mark.slow
@needs_nvrtc
@pytest.mark.parametrize("entry", [e for e in (*ATTACKS, *HONEST) if e.lane == "cuda"], ids=lambda entry: entry.name)
def test_it_compiles_unless_it_must_not(entry: Entry, cache: Path) -> None:
    task, toolchain = load_task(str(entry.task_folder), platform="cuda"), make_toolchain("cuda", cache=cache)
    if toolchain.inspect(task, entry.candidate()) is not None:
        return  # looked at above
    built = toolchain.build(task, entry.candidate(), timeout_s=60.0)
    failed = isinstance(built, BuildFailure)
    assert not failed or BEFORE_IT_RUNS & set(entry.caught), built.messages
