"""Candidates from disk: one language each, and what belongs to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.cli.candidates import read_candidate


def folder(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).write_text(f"// {name}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "language", "files"),
    [
        (("a.cpp", "b.h"), "cpp", ("a.cpp", "b.h")),
        (("best.cpp", "wrapper.py", "test_it.py"), "cpp", ("best.cpp",)),  # an export
        (("a.py", "kernel.py"), "python", ("kernel.py", "a.py")),
        (("kernel.cu", "launch.toml", "part.cuh"), "cuda", ("kernel.cu", "launch.toml", "part.cuh")),
    ],
)
def test_a_folder_is_a_candidate_of_one_language(
    tmp_path: Path, names: tuple[str, ...], language: str, files: tuple[str, ...]
) -> None:
    found = read_candidate(folder(tmp_path, *names))
    assert found.language == language
    assert tuple(file.path for file in found.files) == files


def test_a_python_file_is_a_candidate(tmp_path: Path) -> None:
    found = read_candidate(folder(tmp_path, "mine.py") / "mine.py")
    assert (found.language, found.files[0].path) == ("python", "mine.py")


def test_a_module_beside_a_plan_has_to_be_named(tmp_path: Path) -> None:
    """Device code in .py has a plan beside it; a module may lie there, too."""
    files = folder(tmp_path, "a.py", "kernel.py", "launch.toml", "part.cuh")
    with pytest.raises(UsageError, match="python for a module"):
        read_candidate(files)
    found = read_candidate(files, language="python")
    assert (found.language, [file.path for file in found.files]) == ("python", ["kernel.py", "a.py"])
    found = read_candidate(files, language="triton")
    assert (found.language, [file.path for file in found.files]) == ("triton", ["kernel.py", "a.py", "launch.toml"])


def test_two_languages_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one language"):
        read_candidate(folder(tmp_path, "a.cpp", "b.cu"))
