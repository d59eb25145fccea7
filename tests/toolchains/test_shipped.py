"""Artifacts built in one place are found in another, by content and architecture, and only when they are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import ToolMissingError
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.launch import LaunchPlan
from kernelevolve.model.task import Axis, Task
from kernelevolve.testing.toolchain_case import made
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cache import default_cache
from kernelevolve.toolchains.device_artifact import DeviceBuilt, DeviceKernel, keep, sha256
from kernelevolve.toolchains.shipped import abi_id, find, place, ship
from kernelevolve.toolchains.tlx import TlxToolchain

CUBIN = b"\x7fELF of somebody"


@pytest.fixture
def task(row_scale: Task) -> Task:
    return row_scale.model_copy(update={"platform": "cuda"})


def candidate(text: str = "one") -> Candidate:
    return made("tlx", kernel_py=f"def k(): {text}\n", launch_toml='[[launch]]\nkernel = "k"\ngrid = ["1", "1", "1"]\n')


def built(folder: Path) -> Artifact:
    plan = LaunchPlan.model_validate({"launch": [{"kernel": "k<1>", "grid": ["1", "1", "1"]}]})
    kernel = DeviceKernel(function="k", cubin_sha256=sha256(CUBIN))
    return keep(
        folder / "x.json", DeviceBuilt(plan=plan, kernels=(kernel,), architecture="sm_90a"), [CUBIN], seconds=1.0
    )


def test_what_was_shipped_is_found_by_content(tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(built(tmp_path / "there"), tmp_path / "out", "tlx", task, candidate())
    assert find(tmp_path, "tlx", "sm_90a", task, candidate()) is None
    monkeypatch.setenv("KERNELEVOLVE_ARTIFACTS", f"{tmp_path / 'nothing'}:{tmp_path / 'out'}")
    found = find(tmp_path, "tlx", "sm_90a", task, candidate())
    assert found is not None
    assert found.sha256 == built(tmp_path / "again").sha256
    assert find(tmp_path, "tlx", "sm_100a", task, candidate()) is None
    assert find(tmp_path, "tlx", "sm_90a", task, candidate("other")) is None
    assert find(tmp_path, "triton", "sm_90a", task, candidate()) is None


def test_a_folder_named_from_here_is_found_from_anywhere(
    tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that loads machine code works in a folder of its own."""
    ship(built(tmp_path / "there"), tmp_path / "out", "tlx", task, candidate())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNELEVOLVE_ARTIFACTS", "out")
    monkeypatch.setenv("KERNELEVOLVE_CACHE", "cache")
    found = find(default_cache(), "tlx", "sm_90a", task, candidate())
    assert found is not None
    assert Path(found.path).is_absolute()
    assert default_cache().is_absolute()


def test_the_cache_is_looked_through_too(tmp_path: Path, task: Task) -> None:
    ship(built(tmp_path / "there"), tmp_path / "artifacts", "tlx", task, candidate())
    assert find(tmp_path, "tlx", "sm_90a", task, candidate()) is not None


def test_damage_and_another_architecture_are_not_taken(tmp_path: Path, task: Task) -> None:
    record = ship(built(tmp_path / "there"), tmp_path / "artifacts", "tlx", task, candidate())
    moved = place(tmp_path / "artifacts", "tlx", "sm_100a", task, candidate())
    moved.parent.mkdir(parents=True)
    for path in record.parent.iterdir():
        (moved.parent / path.name).write_bytes(path.read_bytes())
    assert find(tmp_path, "tlx", "sm_100a", task, candidate()) is None
    (record.parent / f"{sha256(CUBIN)}.cubin").write_bytes(b"\x7fELF of somebody else")
    assert find(tmp_path, "tlx", "sm_90a", task, candidate()) is None


def test_dtypes_are_part_of_what_an_artifact_is_for(task: Task) -> None:
    shapes = task.model_copy(update={"shapes": task.shapes.model_copy(update={"sealed": ()})})
    half = task.model_copy(update={"outputs": (task.outputs[0].model_copy(update={"dtype": "float16"}),)})
    assert abi_id(shapes) == abi_id(task)
    assert abi_id(half) != abi_id(task)


def test_whose_rows_lie_apart_is_part_of_what_an_artifact_is_for(task: Task) -> None:
    axes = (*task.axes, Axis(name="P", role="pitch"))
    ids = {abi_id(task.model_copy(update={"axes": axes}))}
    for index, spec in enumerate(task.inputs):
        inputs = [*task.inputs[:index], spec.model_copy(update={"pitch": "P"}), *task.inputs[index + 1 :]]
        ids.add(abi_id(task.model_copy(update={"axes": axes, "inputs": tuple(inputs)})))
    assert len(ids) == 1 + len(task.inputs)


def test_without_the_compiler_the_shipped_one_is_taken_and_else_the_command_is_named(
    tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELEVOLVE_ENVIRONMENTS", str(tmp_path / "none"))
    toolchain = TlxToolchain(cache=tmp_path / "cache", architecture="sm_90a")
    if toolchain.problem() is None:
        pytest.skip("the compiler is part of this interpreter")
    with pytest.raises(ToolMissingError, match="kernelevolve toolchain install tlx"):
        toolchain.build(task, candidate(), timeout_s=10)
    ship(built(tmp_path / "there"), tmp_path / "out", "tlx", task, candidate())
    monkeypatch.setenv("KERNELEVOLVE_ARTIFACTS", str(tmp_path / "out"))
    assert isinstance(toolchain.build(task, candidate(), timeout_s=10), Artifact)
