"""The recipes of the dense interactions, the convolution, the feed-forward network and attention, built with their
default knobs, against the shipped references computed in float64."""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import os
import shutil
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

import kernelevolve.tasks
from kernelevolve.model.task import Task, evaluate_dim
from kernelevolve.proposers.builtin.recipe import Recipe, family_recipes
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.abi import header, is_scalar

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

Inputs = dict[str, "torch.Tensor | int | float"]

# Sizes of one, no samples, primes, and sizes just past a vector, a tile and a block. Widths of 1 and 2 under a norm are
# left to one draw: such a norm divides a value near nothing by itself, and eager float32 fails the rule there too.
SHAPES: dict[str, list[dict[str, int]]] = {
    "wukong_optimized_fm": [
        {"B": 0, "N": 3, "D": 4, "K": 5}, {"B": 1, "N": 1, "D": 1, "K": 1}, {"B": 3, "N": 24, "D": 33, "K": 131},
        {"B": 2, "N": 53, "D": 300, "K": 17}, {"B": 1, "N": 9, "D": 16, "K": 1100}, {"B": 2, "N": 6, "D": 48, "K": 64},
    ],
    "interformer_pffn": [
        {"B": 0, "N": 3, "D": 4, "K": 5}, {"B": 1, "N": 1, "D": 1, "K": 1}, {"B": 3, "N": 25, "D": 33, "K": 131},
        {"B": 1, "N": 101, "D": 64, "K": 48}, {"B": 2, "N": 5, "D": 530, "K": 270}, {"B": 5, "N": 7, "D": 5, "K": 16},
    ],
    "conv1d": [
        {"B": 0, "CI": 3, "CO": 5, "L": 37}, {"B": 1, "CI": 1, "CO": 1, "L": 1}, {"B": 3, "CI": 7, "CO": 9, "L": 2},
        {"B": 2, "CI": 5, "CO": 8, "L": 3}, {"B": 3, "CI": 16, "CO": 33, "L": 131},
        {"B": 2, "CI": 261, "CO": 7, "L": 17}, {"B": 1, "CI": 4, "CO": 24, "L": 257},
    ],
    "dlrm_dot_interaction": [
        {"B": 0, "F": 3, "D": 4}, {"B": 2, "F": 0, "D": 5}, {"B": 1, "F": 1, "D": 1}, {"B": 3, "F": 26, "D": 33},
        {"B": 5, "F": 16, "D": 16}, {"B": 2, "F": 33, "D": 300}, {"B": 17, "F": 5, "D": 31},
    ],
    "hstu_attention": [
        {"B": 0, "H": 2, "D": 4, "L": 5}, {"B": 1, "H": 1, "D": 1, "L": 1}, {"B": 4, "H": 3, "D": 17, "L": 70},
        {"B": 6, "H": 2, "D": 64, "L": 131}, {"B": 3, "H": 1, "D": 130, "L": 50}, {"B": 5, "H": 1, "D": 33, "L": 16},
    ],
}  # fmt: skip
RECIPES = [recipe for family in SHAPES for recipe in family_recipes(family) if recipe.language == "cpp"]


def _isa() -> set[str]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return {word for line in lines if line.startswith("flags") for word in line.split()}


def _build(recipe: Recipe, task: Task, folder: Path) -> Path:
    stem = recipe.title.replace("/", "-")
    source, abi, library = (folder / f"{stem}{end}" for end in (".cpp", ".h", ".so"))
    knobs = "".join(f"#define {knob.name} {knob.default}\n" for knob in recipe.knobs)
    source.write_text(f"#define KE_THREADS 2\n{knobs}{recipe.source}")
    abi.write_text(header(task))
    command = ["g++", "-std=c++20", "-O2", "-march=native", "-fopenmp", "-fPIC", "-shared", "-Werror=return-type"]
    done = subprocess.run(
        [*command, "-include", str(abi), str(source), "-o", str(library)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[Path]]:
    """All builds at once; a failed one fails its own test only."""
    folder = tmp_path_factory.mktemp("dense-recipes")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return {
            recipe.title: pool.submit(_build, recipe, load_task(recipe.family), folder)
            for recipe in RECIPES
            if not set(recipe.isa) - _isa()
        }


def _reference(family: str) -> ModuleType:
    path = Path(kernelevolve.tasks.__file__).parent / "builtin" / family / "reference.py"
    spec = importlib.util.spec_from_file_location(f"reference_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _call(library: Path, task: Task, inputs: Inputs, sizes: dict[str, int]) -> torch.Tensor:
    """The one output. Fails when the kernel refuses the shape or writes to an input."""
    mine = {name: x.clone() if isinstance(x, torch.Tensor) else x for name, x in inputs.items()}
    out = torch.full([evaluate_dim(dim, sizes) for dim in task.outputs[0].dims], float("nan"))
    arguments: list[ctypes.c_void_p | ctypes.c_double | ctypes.c_int64] = []
    for spec in task.inputs:
        value = mine[spec.name]
        if is_scalar(spec):
            arguments.append(ctypes.c_double(float(value)))  # the only scalar of these families is alpha
        else:
            assert isinstance(value, torch.Tensor)
            arguments.append(ctypes.c_void_p(value.data_ptr()))
    arguments.append(ctypes.c_void_p(out.data_ptr()))
    arguments += [ctypes.c_int64(sizes[axis.name]) for axis in task.axes]
    assert getattr(ctypes.CDLL(str(library)), task.entry)(*arguments) == 0
    for name, given in inputs.items():
        assert not isinstance(given, torch.Tensor) or torch.equal(given, mine[name]), f"{name} was written to"
    return out


def _oracle(module: ModuleType, inputs: Inputs, sizes: dict[str, int]) -> torch.Tensor:
    doubles = {
        name: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for name, x in inputs.items()
    }
    wanted = inspect.signature(module.reference).parameters
    result: torch.Tensor = module.reference(**doubles, **{name: sizes[name] for name in wanted if name not in doubles})
    return result


def _worst(got: torch.Tensor, oracle: torch.Tensor, task: Task) -> float:
    """The largest error in units of the allowed one."""
    if not oracle.numel():
        return 0.0
    allowed = task.rule.rtol * oracle.abs() + task.rule.rms * oracle.square().mean().sqrt()
    error = (got.double() - oracle).abs()
    return float(torch.where(error == 0, 0.0, error / allowed).nan_to_num(nan=1e9).max())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_right_on_every_variant_scale_and_edge_shape(recipe: Recipe, libraries: dict[str, Future[Path]]) -> None:
    if recipe.title not in libraries:
        pytest.skip(f"this machine lacks one of {' '.join(recipe.isa)}")
    library, task, module = libraries[recipe.title].result(), load_task(recipe.family), _reference(recipe.family)
    draws = [(variant, 1.0) for variant in module.VARIANTS] + [("nominal", scale) for scale in (3.0, 0.01, -1.0)]
    static = {spec.name for spec in task.inputs if spec.static}
    for shape in SHAPES[recipe.family]:
        for seed, (variant, scale) in enumerate(draws):
            inputs = module.make_inputs(shape, torch.Generator().manual_seed(seed), variant)
            sizes = shape | ({"T": inputs["q"].shape[0]} if "q" in inputs else {})
            for name, value in inputs.items():
                if isinstance(value, torch.Tensor) and value.is_floating_point() and name not in static:
                    value *= scale
            worst = _worst(_call(library, task, inputs, sizes), _oracle(module, inputs, sizes), task)
            assert worst <= 1, f"{shape} {variant} x{scale}: {worst:.3g} times the allowed error"


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES if recipe.family == "hstu_attention"])
def test_attention_survives_more_targets_than_positions_and_sequences_longer_than_the_axis(
    name: str, libraries: dict[str, Future[Path]]
) -> None:
    title = f"hstu_attention/{name}"
    if title not in libraries:
        pytest.skip("this machine lacks an instruction set")
    task, module, rng = load_task("hstu_attention"), _reference("hstu_attention"), torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(97, 2, 20, generator=rng) for _ in range(3))
    inputs: Inputs = {
        "q": q, "k": k, "v": v, "offsets": torch.tensor([0, 0, 40, 41, 97]),
        "num_targets": torch.tensor([0, 90, 1, 7]), "alpha": 0.3,
    }  # fmt: skip
    sizes = {"B": 4, "H": 2, "D": 20, "L": 28, "T": 97}
    # The shipped reference pads to L: give it room for the longest sequence, then put the divisor right.
    oracle = _oracle(module, inputs, sizes | {"L": 56}) * 2
    assert _worst(_call(libraries[title].result(), task, inputs, sizes), oracle, task) <= 1


@pytest.mark.parametrize("family", SHAPES)
def test_each_family_starts_simple_and_has_a_fast_portable_recipe(family: str) -> None:
    recipes = [recipe for recipe in family_recipes(family) if recipe.language == "cpp"]
    assert recipes[0].name.startswith("plain_")
    assert sum(not recipe.isa for recipe in recipes) >= 2
    assert len(recipes) >= 4
