"""Languages candidates may be written in. Adding one: a file with a `Toolchain`, a line in `TOOLCHAINS`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.toolchains.base import Toolchain

TOOLCHAINS = {
    "cpp": "kernelevolve.toolchains.cpp:CppToolchain",
    "python": "kernelevolve.toolchains.python:PythonToolchain",
    "cuda": "kernelevolve.toolchains.cuda:CudaToolchain",
    "fake": "kernelevolve.toolchains.fake:FakeToolchain",
}
SOURCES = {".cpp": "cpp", ".cc": "cpp", ".cu": "cuda", ".py": "python", ".fake": "fake"}
"""The language a source file is written in, by its suffix."""


def make_toolchain(language: str, *, cache: Path) -> Toolchain:
    """The toolchain of a language, keeping its artifacts under `cache`. Raises UnknownNameError."""
    if language not in TOOLCHAINS:
        raise UnknownNameError("language", language, tuple(TOOLCHAINS))
    module, _, name = TOOLCHAINS[language].partition(":")
    return cast(Toolchain, getattr(import_module(module), name)(cache=cache))
