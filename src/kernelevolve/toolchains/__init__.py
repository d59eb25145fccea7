"""Languages candidates may be written in. Adding one: a file with a `Toolchain`, a line in each of the two tables."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.toolchains.base import Toolchain

TOOLCHAINS = {
    "cpp": "kernelevolve.toolchains.cpp:CppToolchain",
    "cuda": "kernelevolve.toolchains.cuda:CudaToolchain",
    "triton": "kernelevolve.toolchains.triton:TritonToolchain",
    "gluon": "kernelevolve.toolchains.gluon:GluonToolchain",
    "tlx": "kernelevolve.toolchains.tlx:TlxToolchain",
    "cutedsl": "kernelevolve.toolchains.cutedsl:CuteDslToolchain",
    "cutile": "kernelevolve.toolchains.cutile:CutileToolchain",
    "python": "kernelevolve.toolchains.python:PythonToolchain",
    "fake": "kernelevolve.toolchains.fake:FakeToolchain",
}
"""In the order in which a platform's languages are offered; the first is written unless something else is wished."""
PLATFORMS: dict[str, tuple[str, ...]] = {
    "cpp": ("cpu",),
    "cuda": ("cuda",),
    "triton": ("cuda",),
    "gluon": ("cuda",),
    "tlx": ("cuda",),
    "cutedsl": ("cuda",),
    "cutile": ("cuda",),
    "python": ("cpu", "cuda"),
}
"""Where candidates of a language run; what is not here runs anywhere."""
SOURCES = {".cpp": "cpp", ".cc": "cpp", ".cu": "cuda", ".py": "python", ".fake": "fake"}
"""The language a source file is written in, by its suffix. Device code in .py has to be named; it has a plan beside."""


def runs_on(language: str, platform: str) -> bool:
    return language in TOOLCHAINS and platform in PLATFORMS.get(language, (platform,))


def languages_for(platform: str) -> tuple[str, ...]:
    """What to offer for this kind of platform: the made-up language runs anywhere and is for the made-up one alone."""
    return tuple(name for name in TOOLCHAINS if platform in PLATFORMS.get(name, ("fake",)))


def make_toolchain(language: str, *, cache: Path) -> Toolchain:
    """The toolchain of a language, keeping its artifacts under `cache`. Raises UnknownNameError."""
    if language not in TOOLCHAINS:
        raise UnknownNameError("language", language, tuple(TOOLCHAINS))
    module, _, name = TOOLCHAINS[language].partition(":")
    return cast(Toolchain, getattr(import_module(module), name)(cache=cache))
