"""Every shipped recipe for GPUs compiles for sm_90a: with its defaults, and with settings drawn once. No device is
needed; Triton recipes need the environment of that language."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task, evaluate_dim, row_of
from kernelevolve.proposers.builtin.arm import Settings, recipe_arm
from kernelevolve.proposers.builtin.recipe import RECIPES, Recipe, family_recipes
from kernelevolve.tasks import load_task
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cache import default_cache
from kernelevolve.toolchains.device_artifact import DeviceBuilt

BUILD_TIMEOUT_S = 240.0
SHARED_LIMIT_BYTES = 232_448
ON_GPUS = [
    recipe for folder in sorted(RECIPES.iterdir()) if folder.is_dir() for recipe in family_recipes(folder.name)
    if recipe.language in ("cuda", "triton")
]  # fmt: skip
FACTS = PlatformFacts(name="gpu", kind="cuda", isa=("sm_90",))


@pytest.fixture(autouse=True)
def environments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers that take minutes to install stay where the user has them."""
    chosen = os.environ.get("KERNELEVOLVE_ENVIRONMENTS") or str(default_cache() / "environments")
    monkeypatch.setenv("KERNELEVOLVE_ENVIRONMENTS", chosen)


def task_of(recipe: Recipe) -> Task:
    return load_task(recipe.family, platform="cuda")


def drawn(recipe: Recipe) -> Settings:
    """The same for as long as the recipe has these knobs."""
    chance = random.Random(recipe.title)
    return {knob.name: chance.choice(knob.values) for knob in recipe.knobs}


def build(recipe: Recipe, settings: Settings, cache: Path) -> None:
    task = task_of(recipe)
    candidate = recipe_arm(recipe, task, FACTS).candidate(settings)
    compiler = make_toolchain(recipe.language, cache=cache)
    if problem := compiler.problem():
        pytest.skip(problem)
    failure = compiler.inspect(task, candidate)
    assert failure is None, f"{recipe.title} {settings}: {failure}"
    built = compiler.build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
    assert isinstance(built, Artifact), f"{recipe.title} {settings}: {built}"
    plan = DeviceBuilt.from_json(Path(built.path).read_text()).plan
    shape = task.shapes.shown[0]
    sizes = plan.known_sizes({**shape, **{spec.pitch: row_of(spec, shape) for spec in task.pitched}})
    for launch in plan.launch:
        shared = evaluate_dim(launch.shared_bytes, sizes)
        assert shared <= SHARED_LIMIT_BYTES, f"{recipe.title} {settings}: {launch.kernel} needs {shared} bytes"


@pytest.mark.parametrize("recipe", ON_GPUS, ids=lambda recipe: f"{recipe.title}.{recipe.language}")
def test_the_defaults_build(recipe: Recipe, tmp_path: Path) -> None:
    assert task_of(recipe).dtype in recipe.dtypes or not recipe.dtypes, "the family's own task cannot use it"
    build(recipe, {knob.name: knob.default for knob in recipe.knobs}, tmp_path)


@pytest.mark.parametrize("recipe", ON_GPUS, ids=lambda recipe: f"{recipe.title}.{recipe.language}")
def test_drawn_settings_build(recipe: Recipe, tmp_path: Path) -> None:
    build(recipe, drawn(recipe), tmp_path)


def test_there_are_recipes_in_both_languages() -> None:
    assert {recipe.language for recipe in ON_GPUS} == {"cuda", "triton"}
