"""Machines kernels run on. Adding one: a file with a `Platform`, a line in `PLATFORMS`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.platforms.base import Platform

PLATFORMS = {
    "cpu": "kernelevolve.platforms.cpu:CpuPlatform",
    "cuda": "kernelevolve.platforms.cuda:CudaPlatform",
    "fake": "kernelevolve.platforms.fake:FakePlatform",
}


def make_platform(name: str) -> Platform:
    """Raises UnknownNameError."""
    if name not in PLATFORMS:
        raise UnknownNameError("platform", name, tuple(PLATFORMS))
    module, _, attribute = PLATFORMS[name].partition(":")
    return cast(Platform, getattr(import_module(module), attribute)())
