"""Shared by all tests: a cache that survives the run's processes but not the run, and small real parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.tasks import load_task

HERE = Path(__file__).parent


def pytest_configure() -> None:
    """An example that takes long says something of the machine and its other work, and nothing of what is tested."""
    settings.register_profile("unhurried", deadline=None)
    settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def facts() -> PlatformFacts:
    return PlatformFacts(
        name="cpu",
        kind="cpu",
        n_cores=2,
        l2_bytes=2**20,
        l3_bytes=32 * 2**20,
        copy_gb_per_s=40.0,
        cached_copy_gb_per_s=150.0,
    )


@pytest.fixture(scope="session")
def row_scale() -> Task:
    """y = x * w + 1: the smallest honest operator."""
    return load_task(str(HERE / "hostile" / "row_scale"))


def read_candidate(path: Path) -> Candidate:
    """A `.cpp` file with optional `// flags:` line as a Candidate."""
    text = path.read_text()
    flags = re.search(r"^// flags: (.*)$", text, re.M)
    return Candidate(
        language="cpp",
        files=(SourceFile(path="row_scale.cpp", text=text),),
        flags=tuple(flags[1].split()) if flags else (),
        origin=Origin(proposer="tests", recipe=path.stem),
    )


@pytest.fixture(scope="session")
def hostile() -> Callable[[str], Candidate]:
    """The hostile candidate of that name."""
    return lambda name: read_candidate(HERE / "hostile" / "candidates" / f"{name}.cpp")


@pytest.fixture(autouse=True)
def _own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELEVOLVE_CACHE", str(cache))
