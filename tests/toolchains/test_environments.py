"""Environments are found where they are, asked for by one command, and never taken for another version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelevolve.errors import UnknownNameError
from kernelevolve.toolchains import TOOLCHAINS, make_toolchain
from kernelevolve.toolchains.dsl import DslToolchain
from kernelevolve.toolchains.environments import READY, RECIPES, environment_of, find_environment, folder_of, missing


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNELEVOLVE_ENVIRONMENTS", str(tmp_path))
    return tmp_path


def pretend(folder: Path, versions: dict[str, str], packages: list[str]) -> None:
    site = folder / "lib" / "python3.11" / "site-packages"
    for name, version in versions.items():
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / READY).write_text(json.dumps({"packages": packages}))


def test_an_installed_environment_is_found_with_its_versions(root: Path) -> None:
    wanted = list(RECIPES["tlx"].packages)
    if find_environment("tlx") is not None:
        pytest.skip("the packages are part of this interpreter")
    assert "kernelevolve toolchain install tlx" in str(missing("tlx"))
    pretend(root / "tlx", {"triton": "3.8.0", "triton-utlx": "3.8.0.post16"}, wanted)
    found = find_environment("tlx")
    assert found is not None
    assert found.identity == "triton 3.8.0 triton-utlx 3.8.0.post16"
    assert found.python == str(root / "tlx" / "bin" / "python")
    assert missing("tlx") is None


@pytest.mark.parametrize(
    ("version", "packages"), [("3.8.0", ["triton==3.7.0"]), ("3.7.1", None)], ids=["another recipe", "another version"]
)
def test_another_version_is_not_taken(root: Path, version: str, packages: list[str] | None) -> None:
    if find_environment("tlx") is not None:
        pytest.skip("the packages are part of this interpreter")
    wanted = packages or list(RECIPES["tlx"].packages)
    pretend(root / "tlx", {"triton": version, "triton-utlx": "3.8.0.post16"}, wanted)
    assert find_environment("tlx") is None


def test_the_cache_is_the_place_when_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELEVOLVE_ENVIRONMENTS", raising=False)
    monkeypatch.setenv("KERNELEVOLVE_CACHE", str(tmp_path))
    assert folder_of("triton") == tmp_path / "environments" / "triton"


def test_every_language_names_an_environment_that_there_is(tmp_path: Path) -> None:
    for language in TOOLCHAINS:
        toolchain = make_toolchain(language, cache=tmp_path)
        if isinstance(toolchain, DslToolchain):
            assert toolchain.environment in RECIPES
            assert environment_of(language) == toolchain.environment
    with pytest.raises(UnknownNameError):
        find_environment("unheard")
