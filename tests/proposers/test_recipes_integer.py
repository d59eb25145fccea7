"""The recipes of the id, bucket and jagged families, built with their default knobs, against the shipped references."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

import kernelevolve.tasks
from kernelevolve.model.task import Task
from kernelevolve.proposers.builtin.recipe import Recipe, family_recipes
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.abi import header

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

Inputs = dict[str, "torch.Tensor | int | float"]

# Nothing, one, primes, just past a vector or a block, and one shape large enough to be shared out among threads.
SHAPES: dict[str, list[dict[str, int]]] = {
    "map_id": [
        {"B": 0, "L": 3, "M": 5}, {"B": 2, "L": 0, "M": 5}, {"B": 3, "L": 7, "M": 0}, {"B": 1, "L": 1, "M": 1},
        {"B": 13, "L": 29, "M": 9}, {"B": 7, "L": 43, "M": 17}, {"B": 5, "L": 101, "M": 1009},
        {"B": 31, "L": 401, "M": 6007},
    ],
    "merge_bucketized_dense": [
        {"F": 1, "N": 0}, {"F": 1, "N": 1}, {"F": 5, "N": 3}, {"F": 7, "N": 17}, {"F": 3, "N": 67}, {"F": 2, "N": 4109},
        {"F": 31, "N": 1031},
    ],
    "sigrid_hash": [{"N": 0}, {"N": 1}, {"N": 7}, {"N": 17}, {"N": 1031}, {"N": 10007}],
    "bucketize": [
        {"N": 0, "M": 3}, {"N": 5, "M": 0}, {"N": 1, "M": 1}, {"N": 67, "M": 2}, {"N": 131, "M": 15},
        {"N": 131, "M": 33}, {"N": 259, "M": 127}, {"N": 1031, "M": 513}, {"N": 1031, "M": 3001}, {"N": 10007, "M": 61},
    ],
    "batch_event_truncate": [
        {"U": 0, "F": 3, "EV": 4}, {"U": 3, "F": 0, "EV": 4}, {"U": 3, "F": 2, "EV": 0}, {"U": 1, "F": 1, "EV": 1},
        {"U": 17, "F": 5, "EV": 3}, {"U": 13, "F": 1, "EV": 37}, {"U": 53, "F": 7, "EV": 61},
    ],
    "jagged_to_padded_dense": [
        {"B": 0, "L": 3, "D": 2}, {"B": 3, "L": 0, "D": 2}, {"B": 1, "L": 1, "D": 1}, {"B": 7, "L": 5, "D": 3},
        {"B": 5, "L": 13, "D": 17}, {"B": 11, "L": 7, "D": 64}, {"B": 37, "L": 41, "D": 67},
    ],
    "jagged_pooled_embedding": [
        {"B": 0, "G": 2, "R": 3, "D": 4, "P": 5}, {"B": 1, "G": 1, "R": 1, "D": 1, "P": 1},
        {"B": 5, "G": 3, "R": 11, "D": 3, "P": 0}, {"B": 7, "G": 2, "R": 29, "D": 16, "P": 3},
        {"B": 17, "G": 3, "R": 101, "D": 130, "P": 7}, {"B": 67, "G": 5, "R": 211, "D": 64, "P": 9},
        {"B": 3, "G": 2, "R": 19, "D": 517, "P": 5},
    ],
}  # fmt: skip
SHAPES["bucketize_torcharrow"] = SHAPES["bucketize"]
RECIPES = [recipe for family in SHAPES for recipe in family_recipes(family) if recipe.language == "cpp"]
GUARD = 16  # elements in front of and behind every output that must stay as they are


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
    command = ["g++", "-std=c++20", "-O1", "-march=native", "-fopenmp", "-fPIC", "-shared", "-Werror=return-type"]
    done = subprocess.run(
        [*command, "-include", str(abi), str(source), "-o", str(library)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[Path]]:
    """All builds at once; a failed one fails its own test only."""
    folder = tmp_path_factory.mktemp("integer-recipes")
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


def _expected(module: ModuleType, inputs: Inputs, shape: dict[str, int]) -> tuple[torch.Tensor, ...]:
    mine = {name: x.clone() if isinstance(x, torch.Tensor) else x for name, x in inputs.items()}
    extra = {"L": shape["L"]} if "padding" in inputs else {}
    result = module.reference(**mine, **extra)
    return result if isinstance(result, tuple) else (result,)


def _sizes(shape: dict[str, int], inputs: Inputs, outputs: tuple[torch.Tensor, ...]) -> dict[str, int]:
    """With the axes that are read off an input or an output."""
    found = dict(shape)
    for axis, name, dim in (("S", "borders", 0), ("E", "inner", 1), ("T", "values", 0), ("I", "indices", 0)):
        tensor = inputs.get(name)
        if isinstance(tensor, torch.Tensor) and tensor.dim() > dim:
            found.setdefault(axis, tensor.shape[dim])
    if len(outputs) == 3:
        found |= {"EO": outputs[1].shape[1], "TO": outputs[2].shape[0]}
    return found


def _call(library: Path, task: Task, inputs: Inputs, like: tuple[torch.Tensor, ...], sizes: dict[str, int]) -> Inputs:
    """The outputs by name. Fails when the kernel refuses the shape, leaves a mark outside, or writes to an input."""
    mine = {name: x.clone() if isinstance(x, torch.Tensor) else x for name, x in inputs.items()}
    arguments: list[ctypes.c_void_p | ctypes.c_double | ctypes.c_int64] = []
    for spec in task.inputs:
        value = mine[spec.name]
        if isinstance(value, torch.Tensor):
            arguments.append(ctypes.c_void_p(value.data_ptr()))
        else:
            arguments.append(ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value))
    padded = [torch.full((tensor.numel() + 2 * GUARD,), -77, dtype=tensor.dtype) for tensor in like]
    arguments += [ctypes.c_void_p(x.data_ptr() + GUARD * x.element_size()) for x in padded]
    arguments += [ctypes.c_int64(sizes[axis.name]) for axis in task.axes]
    assert getattr(ctypes.CDLL(str(library)), task.entry)(*arguments) == 0
    for x in padded:
        assert x[:GUARD].eq(-77).all(), "wrote in front of an output"
        assert x[x.numel() - GUARD :].eq(-77).all(), "wrote behind an output"
    for name, given in inputs.items():
        assert not isinstance(given, torch.Tensor) or _same(given, mine[name]), f"{name} was written to"
    inner = (x[GUARD : x.numel() - GUARD].view(tensor.shape) for x, tensor in zip(padded, like, strict=True))
    return dict(zip((spec.name for spec in task.outputs), inner, strict=True))


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)))


def _right(got: torch.Tensor, expected: torch.Tensor, task: Task) -> bool:
    if task.rule.kind == "bitwise" or not expected.numel():
        return _same(got, expected.contiguous())
    error = (got.double() - expected.double()).abs()
    rms = expected.double().square().mean().sqrt()
    # two float32 sums are compared: each may be off by what the rule allows
    return bool((error <= 2 * (task.rule.rtol * expected.abs() + task.rule.rms * rms)).all())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_right_on_every_variant_and_edge_shape(recipe: Recipe, libraries: dict[str, Future[Path]]) -> None:
    if recipe.title not in libraries:
        pytest.skip(f"this machine lacks one of {' '.join(recipe.isa)}")
    library, task, module = libraries[recipe.title].result(), load_task(recipe.family), _reference(recipe.family)
    for shape in SHAPES[recipe.family]:
        for seed, variant in enumerate(module.VARIANTS):
            inputs = module.make_inputs(shape, torch.Generator().manual_seed(seed), variant)
            expected = _expected(module, inputs, shape)
            outputs = _call(library, task, inputs, expected, _sizes(shape, inputs, expected))
            for (name, got), wanted in zip(outputs.items(), expected, strict=True):
                assert isinstance(got, torch.Tensor)
                assert _right(got, wanted, task), f"{name} is wrong for {shape} {variant}"


@pytest.mark.parametrize(
    "recipe", [r for r in family_recipes("sigrid_hash") if r.language == "cpp"], ids=lambda recipe: recipe.name
)
@pytest.mark.parametrize("max_value", [1, 2, 3, 8191, 8192, 8193, 2**31 + 11, 2**52 + 1, 2**62 + 1, 2**63 - 1])
def test_floor_modulo_is_exact_for_divisors_of_every_size(
    recipe: Recipe, max_value: int, libraries: dict[str, Future[Path]]
) -> None:
    if recipe.title not in libraries:
        pytest.skip("this machine lacks an instruction set")
    task, module = load_task("sigrid_hash"), _reference("sigrid_hash")
    ids = torch.randint(-(2**63), 2**63 - 1, (4001,), generator=torch.Generator().manual_seed(0))
    inputs: Inputs = {"ids": ids, "salt": -12345, "max_value": max_value}
    expected = _expected(module, inputs, {"N": 4001})
    got = _call(libraries[recipe.title].result(), task, inputs, expected, {"N": 4001})["out"]
    assert isinstance(got, torch.Tensor)
    assert torch.equal(got, expected[0])


@pytest.mark.parametrize(
    "recipe", [r for r in family_recipes("map_id") if r.language == "cpp"], ids=lambda recipe: recipe.name
)
def test_map_id_finds_the_first_of_equal_keys_in_skewed_tables(
    recipe: Recipe, libraries: dict[str, Future[Path]]
) -> None:
    """Nearly all keys share the leading bits that an index would use, and the largest key is stored many times."""
    if recipe.title not in libraries:
        pytest.skip("this machine lacks an instruction set")
    task, module, rng = load_task("map_id"), _reference("map_id"), torch.Generator().manual_seed(0)
    crowd = torch.randint(0, 700, (2000,), generator=rng)
    table = torch.cat([crowd, torch.tensor([-(2**63)] * 3 + [2**62, 2**63 - 2, 2**63 - 1, 2**63 - 1])]).sort().values
    v = torch.cat([torch.arange(-5, 1000), table, torch.tensor([-(2**63) + 1, 2**62 + 1, 2**63 - 3])]).view(1, -1)
    inputs: Inputs = {"v": v, "table": table}
    expected = _expected(module, inputs, {})
    got = _call(libraries[recipe.title].result(), task, inputs, expected, {"B": 1, "L": v.numel(), "M": table.numel()})
    assert _right(torch.as_tensor(got["out"]), expected[0], task)


@pytest.mark.parametrize("family", SHAPES)
def test_each_family_starts_simple_and_has_portable_recipes(family: str) -> None:
    recipes = [recipe for recipe in family_recipes(family) if recipe.language == "cpp"]
    assert not recipes[0].isa
    assert recipes[0].order == 10
    assert sum(not recipe.isa for recipe in recipes) >= 2
