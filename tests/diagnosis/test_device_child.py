"""What the launching process does, call by call, as its driver sees it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kernelevolve.model.profile_job import ProfileArgument, ProfiledCandidate, ProfileJob, ProfileLaunch


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("logging_driver.cpp")
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", str(source), "-o", str(folder / "libcuda.so.1")]
    subprocess.run(command, check=True)
    return folder


def launch(
    name: str, folder: Path, arguments: list[tuple[str, int]], sizes: list[int], shared: int = 0
) -> ProfileLaunch:
    cubin = folder / "k.cubin"
    cubin.write_bytes(b"machine code")
    given = tuple(ProfileArgument.model_validate({"kind": kind, "value": value}) for kind, value in arguments)
    return ProfileLaunch(
        kernel=name, function=name, cubin=str(cubin), grid=(3, 1, 1), block=(64, 1, 1), shared_bytes=shared,
        arguments=given, parameter_bytes=tuple(sizes),
    )  # fmt: skip


def run(
    driver: Path, folder: Path, *candidates: ProfiledCandidate, way: str = "range", calls: int = 1
) -> dict[str, str]:
    """x = 1, 2 at 64, w = 10, 100 at 128, y at 192."""
    content = bytearray(b"\xff" * 256)
    content[64:72], content[128:136] = struct.pack("<2f", 1, 2), struct.pack("<2f", 10, 100)
    (folder / "arena.bin").write_bytes(bytes(content))
    job = ProfileJob(
        shape={}, bytes_moved=1, arena=str(folder / "arena.bin"), arena_bytes=len(content), candidates=candidates
    )
    (folder / "job.json").write_text(job.to_json())
    command = [sys.executable, "-m", "kernelevolve.diagnosis.device_child"]
    subprocess.run(
        [*command, str(folder / "job.json"), str(folder / "result.json"), way, str(calls)], cwd=folder, check=True,
        env={**os.environ, "LD_LIBRARY_PATH": str(driver)},
    )  # fmt: skip
    found: dict[str, str] = json.loads((folder / "result.json").read_text())
    return found


def launches(folder: Path) -> list[str]:
    """Without the copies that bring the clocks up."""
    lines = (folder / "driver.log").read_text().splitlines()
    return [line for line in lines if not (line.startswith("launch ke_copy") and line.endswith(" 0"))]


SCALE = [("pointer", 64), ("pointer", 128), ("pointer", 192), ("integer", 1), ("integer", 2)]


def test_inputs_are_there_and_only_the_calls_are_seen(driver: Path, tmp_path: Path) -> None:
    item = ProfiledCandidate(label="a", launches=(launch("scale", tmp_path, SCALE, [8] * 5),))
    assert run(driver, tmp_path, item, calls=2) == {"done": ["ke_copy", "a"], "where": "", "error": ""}
    total = 1 * 10 + 1 + 2 * 100 + 1
    assert launches(tmp_path) == [
        "launch ke_copy 32x1x1 256x1x1 0 1", *[f"launch scale 3x1x1 64x1x1 0 1 {total:.6f}"] * 2,
    ]  # fmt: skip


def test_numbers_are_as_wide_as_the_parameters(driver: Path, tmp_path: Path) -> None:
    half = int.from_bytes(struct.pack("<d", 0.5), "little")
    arguments = [("scratch", 1), ("integer", -7), ("real", half), ("real", half), ("integer", -(2**40))]
    item = ProfiledCandidate(
        label="a", scratch=(10, 48), launches=(launch("mixed", tmp_path, arguments, [8, 4, 4, 8, 8], shared=65536),)
    )
    assert run(driver, tmp_path, item)["error"] == ""
    assert launches(tmp_path)[1:] == [
        "attribute mixed 8 65536", f"launch mixed 3x1x1 64x1x1 65536 1 -7 0.5 0.5 {-(2**40)} ff",
    ]  # fmt: skip


def test_a_candidate_that_breaks_the_device_is_named_and_ends_it(driver: Path, tmp_path: Path) -> None:
    items = [
        ProfiledCandidate(label=name, launches=(launch(kernel, tmp_path, SCALE, [8] * 5),))
        for name, kernel in (("good", "scale"), ("bad", "fault"), ("late", "scale"))
    ]
    found = run(driver, tmp_path, *items)
    assert (found["done"], found["where"]) == (["ke_copy", "good"], "bad")
    assert "CUDA_ERROR_MADE_UP (700)" in found["error"]


def test_a_plan_that_does_not_fit_the_code_is_told(driver: Path, tmp_path: Path) -> None:
    item = ProfiledCandidate(label="a", launches=(launch("scale", tmp_path, SCALE[:3], [8] * 5),))
    assert "scale takes 5 parameters, the plan gives 3" in run(driver, tmp_path, item)["error"]


def test_a_profiler_that_is_not_there_is_an_answer(driver: Path, tmp_path: Path) -> None:
    item = ProfiledCandidate(label="a", launches=())
    assert run(driver, tmp_path, item, way="scopes")["error"] != ""
