"""Where a language's compiler lives: in this interpreter, or in a virtual environment of its own, made on demand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

from kernelevolve.errors import MachineError, UnknownNameError
from kernelevolve.model.value import Value
from kernelevolve.toolchains.cache import default_cache

READY = "kernelevolve.json"
INSTALL_TIMEOUT_S = 1800.0


class Recipe(Value):
    """`packages`: what is installed, pinned. `accepts`: for each distribution the versions known to work, as the start
    of one, for using what the current interpreter has."""

    packages: tuple[str, ...]
    accepts: dict[str, tuple[str, ...]]
    python: tuple[int, int] = (3, 11)
    summary: str = ""


RECIPES: dict[str, Recipe] = {
    "triton": Recipe(
        packages=("triton==3.8.0",), accepts={"triton": ("3.6.", "3.7.", "3.8.")},
        summary="Triton and Gluon",
    ),
    "tlx": Recipe(
        packages=("triton==3.8.0", "triton-utlx==3.8.0.post16"),
        accepts={"triton": ("3.8.0",), "triton-utlx": ("3.8.0.post16",)}, summary="Triton with low-level extensions",
    ),
    "cutedsl": Recipe(
        packages=("nvidia-cutlass-dsl==4.8.1", "nvidia-cuda-nvcc==13.0.88"),
        accepts={"nvidia-cutlass-dsl": ("4.8.1",), "nvidia-cuda-nvcc": ("13.0.",)}, summary="CuTe DSL",
    ),
    "cutile": Recipe(
        packages=("cuda-tile==1.7.0", *(f"nvidia-{name}==13.4.92" for name in ("cuda-tileiras", "cuda-nvcc", "nvvm"))),
        accepts={
            "cuda-tile": ("1.7.0",), "nvidia-cuda-tileiras": ("13.4.92",), "nvidia-cuda-nvcc": ("13.4.92",),
            "nvidia-nvvm": ("13.4.92",),
        },
        summary="cuTile",
    ),
}  # fmt: skip
"""Languages whose packages agree share one."""


class Environment(Value):
    """`versions`: the distributions that decide what is compiled, with their versions."""

    name: str
    python: str
    site: str
    versions: dict[str, str]

    @property
    def identity(self) -> str:
        return " ".join(f"{name} {version}" for name, version in sorted(self.versions.items()))


LANGUAGES = {"gluon": "triton"}
"""Languages whose environment has another name than their own."""


def environment_of(language: str) -> str:
    return LANGUAGES.get(language, language)


def folder_of(name: str) -> Path:
    """`$KERNELEVOLVE_ENVIRONMENTS`, else a folder of the cache."""
    chosen = os.environ.get("KERNELEVOLVE_ENVIRONMENTS")
    return (Path(chosen).absolute() if chosen else default_cache() / "environments") / name


def find_environment(name: str) -> Environment | None:
    """This interpreter when it has the packages, else the installed environment, else None. Starts nothing."""
    recipe = recipe_of(name)
    here = _fitting(recipe, None)
    if here is not None:
        versions, site = here
        return Environment(name=name, python=sys.executable, site=site, versions=versions)
    folder = folder_of(name)
    marker = folder / READY
    if not marker.exists() or json.loads(marker.read_text()).get("packages") != list(recipe.packages):
        return None
    for site_folder in sorted(folder.glob("lib/python3*/site-packages")):
        if (found := _fitting(recipe, str(site_folder))) is not None:
            versions, site = found
            return Environment(name=name, python=str(folder / "bin" / "python"), site=site, versions=versions)
    return None


def missing(name: str) -> str | None:
    """One line with the command that helps, or None."""
    if find_environment(name) is not None:
        return None
    return f"{' '.join(recipe_of(name).packages)} not installed: kernelevolve toolchain install {name}"


def install(name: str) -> Environment:
    """Make the environment, or make it anew when it is of another version. Raises MachineError."""
    recipe = recipe_of(name)
    if (found := find_environment(name)) is not None:
        return found
    if sys.version_info[:2] < recipe.python:
        wanted = ".".join(map(str, recipe.python))
        raise MachineError(f"the environment {name} needs Python {wanted} or newer: run kernelevolve with one")
    folder = folder_of(name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(folder)], name)
    python = str(folder / "bin" / "python")
    _run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *recipe.packages], name)
    (folder / READY).write_text(json.dumps({"packages": list(recipe.packages)}) + "\n")
    if (made := find_environment(name)) is None:
        raise MachineError(f"{folder} was installed and is not as asked for; remove it and try again")
    return made


def recipe_of(name: str) -> Recipe:
    if name not in RECIPES:
        raise UnknownNameError("environment", name, tuple(RECIPES))
    return RECIPES[name]


def _run(command: list[str], name: str) -> None:
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"the environment {name} could not be made: {error}") from error
    if finished.returncode != 0:
        tail = " | ".join((finished.stderr or finished.stdout).strip().splitlines()[-3:])[:500]
        raise MachineError(f"the environment {name} could not be made: {tail}")


def _fitting(recipe: Recipe, site: str | None) -> tuple[dict[str, str], str] | None:
    """(versions, folder of the packages) when each wanted distribution is there in a version known to work."""
    versions: dict[str, str] = {}
    where = ""
    for distribution, accepted in recipe.accepts.items():
        found = _distribution(distribution, site)
        version = found.version if found is not None else ""
        if found is None or not version.startswith(accepted):
            return None
        versions[distribution] = version
        where = where or str(found.locate_file(""))
    return versions, where


def _distribution(name: str, site: str | None) -> Distribution | None:
    path = [site] if site is not None else sys.path
    same = re.sub(r"[-_.]+", "-", name).lower()
    return next(iter(distributions(name=same, path=path)), None)
