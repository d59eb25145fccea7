"""What went wrong elsewhere with build caches, locks and compilers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cpp import CppToolchain
from kernelevolve.toolchains.cuda import CudaToolchain
from kernelevolve.toolchains.nvrtc import find_nvrtc
from tests.toolchains.test_every_toolchain import CUDA, PLAN

SOURCE = 'extern "C" int row_scale(const float*, const float*, float* y, int64_t, int64_t) { y[0] = 1; return 0; }\n'
COMPILER = """\
#!/bin/sh
case "$*" in
*--version*) echo "stand-in compiler {version}"; exit 0 ;;
esac
echo compiled >> "{log}"
while [ "$1" != "-o" ]; do shift; done
case "$(cat *.cpp)" in
*broken*) echo "a.cpp:1:1: error: broken"; exit 1 ;;
*endless*) sleep 60 ;;
esac
cat a.cpp > "$2"
"""


class Bench:
    """A stand-in for a compiler that says how often it was run."""

    def __init__(self, folder: Path, version: str = "1") -> None:
        self.log = folder / "log"
        self.path = folder / f"compiler-{version}"
        self.path.write_text(COMPILER.format(version=version, log=self.log))
        self.path.chmod(0o755)

    @property
    def n_runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def toolchain(self, cache: Path) -> CppToolchain:
        return CppToolchain(cache=cache, compiler=str(self.path))


def candidate(text: str, *flags: str) -> Candidate:
    files = (SourceFile(path="a.cpp", text=text),)
    return Candidate(language="cpp", files=files, flags=flags, origin=Origin(proposer="tests"))


def test_one_byte_of_source_flags_or_compiler_misses_the_cache(tmp_path: Path, row_scale: Task) -> None:
    """PS47"""
    bench, cache = Bench(tmp_path), tmp_path / "cache"

    def cached(bench: Bench, text: str, *flags: str) -> bool:
        built = bench.toolchain(cache).build(row_scale, candidate(text, *flags), timeout_s=20)
        assert isinstance(built, Artifact)
        return built.cached

    assert [cached(bench, SOURCE), cached(bench, SOURCE)] == [False, True]
    assert not cached(bench, SOURCE.replace("= 1", "= 2"))
    assert not cached(bench, SOURCE, "-O2")
    assert not cached(bench, SOURCE, "-O1")
    assert not cached(Bench(tmp_path, version="2"), SOURCE)
    assert cached(bench, SOURCE), "and the first is there still"
    assert bench.n_runs == 5


@pytest.mark.skipif(find_nvrtc() is None, reason="NVRTC is not installed")
def test_another_gpu_misses_the_cache(tmp_path: Path, row_scale: Task) -> None:
    """PS47"""
    task = row_scale.model_copy(update={"platform": "cuda"})
    files = (SourceFile(path="kernel.cu", text=CUDA), SourceFile(path="launch.toml", text=PLAN))
    kernel = Candidate(language="cuda", files=files, origin=Origin(proposer="tests"))

    def cached(architecture: str) -> bool:
        built = CudaToolchain(cache=tmp_path, architecture=architecture).build(task, kernel, timeout_s=60)
        assert isinstance(built, Artifact), built
        return built.cached

    assert [cached(name) for name in ("sm_90a", "sm_80", "sm_90a", "sm_80")] == [False, False, True, True]


def test_only_what_would_come_out_the_same_is_remembered(tmp_path: Path, row_scale: Task) -> None:
    """PS53: a fault of the source is; a compiler that ran out of time is asked again."""
    bench, cache = Bench(tmp_path), tmp_path / "cache"

    def build(text: str, timeout_s: float = 20.0) -> BuildFailure:
        failure = bench.toolchain(cache).build(row_scale, candidate(text), timeout_s=timeout_s)
        assert isinstance(failure, BuildFailure)
        return failure

    assert build(SOURCE + "// broken").messages[0].message == "broken"
    assert build(SOURCE + "// broken").messages[0].message == "broken"
    assert bench.n_runs == 1
    for n_runs in (2, 3):
        assert "took longer" in build(SOURCE + "// endless", timeout_s=0.5).messages[0].message
        assert bench.n_runs == n_runs


def test_what_a_dead_build_left_holds_nobody_up(tmp_path: Path, row_scale: Task) -> None:
    """PE57: there are no lock files to go stale; half-written and foreign files are neither waited for nor taken."""
    bench, cache = Bench(tmp_path), tmp_path / "cache"
    built = bench.toolchain(cache).build(row_scale, candidate(SOURCE), timeout_s=20)
    assert isinstance(built, Artifact)
    library = Path(built.path)
    for name in ("lock", f"{library.stem}.lock", ".lock", "tmpabc123"):
        (library.parent / name).write_text("4194303")
    library.write_bytes(library.read_bytes()[:10])
    again = bench.toolchain(cache).build(row_scale, candidate(SOURCE), timeout_s=20)
    assert isinstance(again, Artifact)
    assert (again.cached, again.sha256, bench.n_runs) == (False, built.sha256, 2)


def test_removing_one_artifact_leaves_the_others(tmp_path: Path, row_scale: Task) -> None:
    """PE50"""
    bench, cache = Bench(tmp_path), tmp_path / "cache"
    paths = []
    for number in range(3):
        built = bench.toolchain(cache).build(row_scale, candidate(f"{SOURCE}// {number}"), timeout_s=20)
        assert isinstance(built, Artifact)
        paths.append(Path(built.path))
    paths[0].unlink()
    again = [bench.toolchain(cache).build(row_scale, candidate(f"{SOURCE}// {n}"), timeout_s=20) for n in range(3)]
    assert [built.cached for built in again if isinstance(built, Artifact)] == [False, True, True]


def test_each_candidate_is_compiled_by_a_process_of_its_own(tmp_path: Path, row_scale: Task) -> None:
    """PS58"""
    bench, cache = Bench(tmp_path), tmp_path / "cache"
    texts = [f"{SOURCE}// {'broken' if number % 4 == 1 else ''} {number}" for number in range(12)]
    built = [bench.toolchain(cache).build(row_scale, candidate(text), timeout_s=20) for text in texts]
    assert [isinstance(one, BuildFailure) for one in built] == ["broken" in text for text in texts]
    assert bench.n_runs == len(texts)
