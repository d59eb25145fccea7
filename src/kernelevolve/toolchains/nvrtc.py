"""Finding NVRTC and CUDA's headers: in pip packages, where torch's CUDA builds bring them, or in the system."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path

from kernelevolve.model.value import Value

HEADER = "cuda_fp16.h"
_PACKAGES = ("nvidia/cu13", "nvidia/cuda_nvrtc", "nvidia/cuda_runtime", "nvidia/cu12")
_SYSTEM = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr")
_LIBRARY_FOLDERS = ("lib", "lib64", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")


class Nvrtc(Value):
    """`builtins` is loaded first: the compiler would look for it when the file system is gone."""

    library: str
    builtins: str = ""
    headers: str = ""
    version: str


def find_nvrtc() -> Nvrtc | None:
    return _find(os.environ.get("CUDA_HOME", ""), tuple(sys.path))


@cache
def _find(cuda_home: str, python_path: tuple[str, ...]) -> Nvrtc | None:
    roots = [Path(cuda_home)] if cuda_home else []
    roots += [Path(folder) / package for folder in python_path if folder for package in _PACKAGES]
    roots += [Path(folder) for folder in _SYSTEM]
    roots = [root for root in roots if root.is_dir()]
    folders = [root / name for root in roots for name in _LIBRARY_FOLDERS]
    library = next((path for folder in folders for path in sorted(folder.glob("libnvrtc.so.*"))), None)
    if library is None:
        return None
    builtins = next(iter(sorted(library.parent.glob("libnvrtc-builtins.so.*"))), None)
    headers = next((root / "include" for root in roots if (root / "include" / HEADER).exists()), None)
    return Nvrtc(
        library=str(library.resolve()), builtins=str(builtins.resolve()) if builtins else "",
        headers=str(headers.resolve()) if headers else "", version=_version(library),
    )  # fmt: skip


def _version(library: Path) -> str:
    """Only asks for the number; nothing is compiled in this process."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    ctypes.CDLL(str(library)).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"
