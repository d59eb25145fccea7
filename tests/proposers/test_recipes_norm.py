"""The recipes of the gated delta rule, the norms and softmax, built with their default knobs, against the shipped
references computed in float64."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

import kernelevolve.tasks
from kernelevolve.model.task import Task, evaluate_dim, row_of
from kernelevolve.proposers.builtin.recipe import Recipe, family_recipes
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.abi import header

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

FAMILIES = ("gated_delta_packed_decode", "rms_norm", "add_rms_norm", "softmax")
RECIPES = [recipe for family in FAMILIES for recipe in family_recipes(family) if recipe.language == "cpp"]
ROWS = [
    {"R": 0, "C": 5}, {"R": 1, "C": 1}, {"R": 6, "C": 1}, {"R": 7, "C": 15}, {"R": 9, "C": 17}, {"R": 33, "C": 256},
    {"R": 5, "C": 1009}, {"R": 3, "C": 5003}, {"R": 1, "C": 40009}, {"R": 40, "C": 2048},
]  # fmt: skip
HEADS = [
    {"B": 0, "H": 1, "HV": 1, "K": 4, "V": 4, "S": 1}, {"B": 1, "H": 1, "HV": 1, "K": 1, "V": 1, "S": 1},
    {"B": 3, "H": 1, "HV": 3, "K": 7, "V": 5, "S": 4}, {"B": 6, "H": 2, "HV": 4, "K": 128, "V": 128, "S": 9},
    {"B": 4, "H": 2, "HV": 2, "K": 64, "V": 37, "S": 4}, {"B": 2, "H": 1, "HV": 2, "K": 256, "V": 19, "S": 3},
    {"B": 5, "H": 3, "HV": 3, "K": 100, "V": 66, "S": 5},
]  # fmt: skip
# 64 MiB of rows: past the size from which results are streamed; the columns leave every row on another alignment.
LARGE = {"R": 4111, "C": 2049}


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
    folder = tmp_path_factory.mktemp("norm-recipes")
    with ThreadPoolExecutor(2) as pool:
        return {
            recipe.title: pool.submit(_build, recipe, load_task(recipe.family), folder)
            for recipe in RECIPES
            if not set(recipe.isa) - _isa()
        }


def _isa() -> set[str]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return {word for line in lines if line.startswith("flags") for word in line.split()}


def _reference(family: str) -> ModuleType:
    path = Path(kernelevolve.tasks.__file__).parent / "builtin" / family / "reference.py"
    spec = importlib.util.spec_from_file_location(f"reference_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Tensors = dict[str, "torch.Tensor"]


class Kernel:
    def __init__(self, library: Path, task: Task) -> None:
        self._task = task
        self._call: Callable[..., int] = getattr(ctypes.CDLL(str(library)), task.entry)

    def __call__(self, inputs: Tensors, sizes: dict[str, int], *, steps: int = 0) -> Tensors:
        """Everything written, by name. Fails when an input that is not in place was changed, or what lies between rows:
        where they may lie apart, they do by `steps` of what the axis admits."""
        mine = {name: tensor.clone() for name, tensor in inputs.items()}
        gaps: Tensors = {}
        for spec in self._task.pitched:
            row, step = row_of(spec, sizes), self._task.axis(spec.pitch).multiple_of
            pitch = (row // step + steps) * step if steps else row
            buffer = torch.full((inputs[spec.name].shape[0], pitch), float("nan"))
            buffer[:, :row] = inputs[spec.name].reshape(-1, row)
            gaps[spec.name] = buffer[:, row:]
            mine[spec.name] = buffer.as_strided(inputs[spec.name].shape, (pitch, *inputs[spec.name].stride()[1:]))
            sizes = {**sizes, spec.pitch: pitch}
        outputs = {
            spec.name: torch.full([evaluate_dim(dim, sizes) for dim in spec.dims], float("nan"))
            for spec in self._task.outputs
        }
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*mine.values(), *outputs.values())]
        status = self._call(*pointers, *(ctypes.c_int64(sizes[axis.name]) for axis in self._task.axes))
        assert status == 0
        kept = [spec.name for spec in self._task.inputs if not spec.in_place]
        assert all(torch.equal(mine[name].view(torch.int32), inputs[name].view(torch.int32)) for name in kept)
        assert all(bool(gap.isnan().all()) for gap in gaps.values())
        return outputs | {spec.name: mine[spec.name] for spec in self._task.inputs if spec.in_place}


@pytest.fixture(params=RECIPES, ids=lambda recipe: recipe.title)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    chosen: Recipe = request.param
    return chosen


@pytest.fixture
def kernel(recipe: Recipe, libraries: dict[str, Future[Path]]) -> Kernel:
    if recipe.title not in libraries:
        pytest.skip(f"this machine lacks one of {' '.join(recipe.isa)}")
    return Kernel(libraries[recipe.title].result(), load_task(recipe.family))


def _expected(module: ModuleType, task: Task, inputs: Tensors) -> Tensors:
    doubles = {name: (x.double() if x.is_floating_point() else x).clone() for name, x in inputs.items()}
    result = {task.outputs[0].name: module.reference(**doubles)}
    return result | {spec.name: doubles[spec.name] for spec in task.inputs if spec.in_place}


def _worst(got: Tensors, expected: Tensors, task: Task) -> float:
    """The largest error in units of the allowed one."""
    worst = 0.0
    for name, oracle in expected.items():
        if oracle.numel():
            allowed = task.rule.rtol * oracle.abs() + task.rule.rms * oracle.square().mean().sqrt()
            error = (got[name].double() - oracle).abs()
            worst = max(worst, float(torch.where(error == 0, 0.0, error / allowed).nan_to_num(nan=1e9).max()))
    return worst


def test_right_on_every_variant_scale_and_edge_shape(recipe: Recipe, kernel: Kernel) -> None:
    task, module = load_task(recipe.family), _reference(recipe.family)
    draws = [(variant, 1.0) for variant in module.VARIANTS] + [("nominal", scale) for scale in (3.0, 0.01, -1.0)]
    static = {spec.name for spec in task.inputs if spec.static}
    for sizes in HEADS if "K" in {axis.name for axis in task.axes} else ROWS:
        for seed, (variant, scale) in enumerate(draws):
            inputs = module.make_inputs(sizes, torch.Generator().manual_seed(seed), variant)
            for name, tensor in inputs.items():
                if tensor.is_floating_point() and name not in static:
                    tensor *= scale
            worst = _worst(kernel(inputs, sizes, steps=seed % 4), _expected(module, task, inputs), task)
            assert worst <= 1, f"{sizes} {variant} x{scale}: {worst:.3g} times the allowed error"


@pytest.mark.parametrize("family", [family for family in FAMILIES if "softmax" in family or "rms" in family])
def test_large_results_are_right_past_the_cache(family: str, libraries: dict[str, Future[Path]]) -> None:
    task, module = load_task(family), _reference(family)
    inputs = module.make_inputs(LARGE, torch.Generator().manual_seed(1), "nominal")
    expected = _expected(module, task, inputs)
    for recipe in [recipe for recipe in family_recipes(family) if recipe.language == "cpp"]:
        if recipe.title in libraries and "STREAM_MIB" in {knob.name for knob in recipe.knobs}:
            got = Kernel(libraries[recipe.title].result(), task)(inputs, LARGE)
            assert _worst(got, expected, task) <= 1, recipe.title


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES if recipe.family == "softmax"])
@pytest.mark.parametrize("columns", [4, 33, 5003])
def test_softmax_treats_infinities_and_nan_as_pytorch_does(
    name: str, columns: int, libraries: dict[str, Future[Path]]
) -> None:
    title = f"softmax/{name}"
    if title not in libraries:
        pytest.skip("this machine lacks an instruction set")
    x = torch.randn(6, columns, generator=torch.Generator().manual_seed(0))
    x[0, :-1] = -torch.inf
    x[1] = -torch.inf
    x[2, 0] = torch.nan
    x[3, -1] = torch.inf
    x[4, 1] = -torch.inf
    x[5] = -torch.inf
    x[5, 2] = torch.nan
    got = Kernel(libraries[title].result(), load_task("softmax"))({"x": x}, {"R": 6, "C": columns})["out"]
    torch.testing.assert_close(got, torch.softmax(x.double(), -1).float(), equal_nan=True, rtol=2e-6, atol=0)


def test_a_rollout_stays_close_to_float64(recipe: Recipe, kernel: Kernel) -> None:
    task, module = load_task(recipe.family), _reference(recipe.family)
    if task.rollout is None:
        pytest.skip("the operator has no state")
    sizes = {"B": 3, "H": 1, "HV": 2, "K": 32, "V": 24, "S": 4}
    state = module.make_inputs(sizes, torch.Generator().manual_seed(0), "nominal")["state"]
    oracle = state.double()
    for step in range(task.rollout.steps):
        inputs = module.make_inputs(sizes, torch.Generator().manual_seed(step), "nominal")
        state = kernel(inputs | {"state": state}, sizes)["state"]
        oracle = _expected(module, task, inputs | {"state": oracle})["state"]
    assert float((state - oracle).norm() / oracle.norm()) <= task.rollout.relative_l2


def test_each_family_starts_simple_and_has_a_portable_alternative() -> None:
    for family in FAMILIES:
        recipes = [recipe for recipe in family_recipes(family) if recipe.language == "cpp"]
        assert recipes[0].name == "scalar"
        assert sum(not recipe.isa for recipe in recipes) >= 2
        assert len(recipes) >= 3
