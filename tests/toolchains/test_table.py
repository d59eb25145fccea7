"""Which language runs where: one table, two questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.toolchains import PLATFORMS, SOURCES, TOOLCHAINS, languages_for, make_toolchain, runs_on


def test_every_language_has_its_place() -> None:
    assert {*PLATFORMS, "fake"} == set(TOOLCHAINS)
    assert set(SOURCES.values()) <= set(TOOLCHAINS)
    assert not runs_on("cobol", "cpu")
    for language, platforms in PLATFORMS.items():
        assert platforms
        assert [runs_on(language, platform) for platform in ("cpu", "cuda", "abacus")] == [
            "cpu" in platforms, "cuda" in platforms, False,
        ]  # fmt: skip


def test_a_platforms_own_language_is_offered_first_and_python_last() -> None:
    assert languages_for("cpu") == ("cpp", "python")
    assert languages_for("cuda") == ("cuda", "triton", "gluon", "tlx", "cutedsl", "cutile", "python")
    assert languages_for("fake") == ("fake",)
    assert languages_for("abacus") == ()


@pytest.mark.parametrize("platform", ["cpu", "cuda", "fake"])
def test_the_made_up_language_runs_anywhere(platform: str) -> None:
    assert runs_on("fake", platform)


def test_host_code_may_run_on_several_platforms_device_code_on_one(tmp_path: Path) -> None:
    """What a lane on a device must defend against follows from it."""
    lanes = {language: make_toolchain(language, cache=tmp_path).lane for language in PLATFORMS}
    assert [language for language, lane in lanes.items() if lane == "host"] == ["python"]
    assert all(len(PLATFORMS[language]) == 1 for language, lane in lanes.items() if lane == "device_code")
