"""From a reference to a running kernel: PyTorch's own C++ without PyTorch."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import torch

from kernelevolve.errors import ProposerError
from kernelevolve.evaluation.task_module import TaskModule, copy_inputs
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.platforms.cpu import CpuPlatform
from kernelevolve.proposers.builtin.inductor import InductorSource, extract
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cpp import CppToolchain

pytestmark = pytest.mark.slow
SWISH = """\
import torch
def make_inputs(sizes, rng, variant):
    n, d = sizes["N"], sizes["D"]
    draw = lambda *shape: torch.randn(*shape, generator=rng)
    return {"x": draw(n, d), "weight": draw(d, d), "bias": draw(d)}
def reference(x, weight, bias):
    y = torch.nn.functional.linear(x, weight, bias)
    return (y * torch.sigmoid(y)).mean(-1)
"""
NORM = """\
import torch
def make_inputs(sizes, rng, variant):
    shape = (sizes["N"], sizes["D"])
    return {"x": torch.randn(shape, generator=rng), "residual": torch.randn(shape, generator=rng), "scale": 1.5}
def reference(x, residual, scale):
    residual.add_(x)
    return torch.softmax(residual, -1).mul(scale).transpose(0, 1)
"""
SEARCH = """\
import torch
def make_inputs(sizes, rng, variant):
    table = torch.randint(0, 1000, (sizes["D"],), generator=rng).unique()
    return {"v": torch.randint(0, 1000, (sizes["N"],), generator=rng), "table": table}
def reference(v, table):
    place = torch.bucketize(v, table)
    hit = table[place.clamp(max=table.numel() - 1)] == v
    return torch.where(hit, place + 1, 0)
"""
SORT = "import torch\n" + SEARCH.partition("\n")[2].replace("torch.where(hit, place + 1, 0)", "place.sort()[0]")


def task_of(text: str, *inputs: TensorSpec, out: TensorSpec) -> Task:
    rule = Rule(kind="scaled", rtol=1e-4, rms=1e-4) if out.dtype == "float32" else Rule(kind="bitwise")
    measured = tuple(Axis(name="M", role="input") for _ in range(1) if any("M" in spec.dims for spec in inputs))
    return Task(
        name="t", entry="t", axes=(Axis(name="N", low=1), Axis(name="D", low=1), *measured), inputs=inputs,
        outputs=(out,), rule=rule,
        shapes=ShapeSets(shown=({"N": 64, "D": 96},)), files=(SourceFile(path="reference.py", text=text),),
    )  # fmt: skip


def floats(name: str, *dims: str, in_place: bool = False) -> TensorSpec:
    return TensorSpec(name=name, dtype="float32", dims=dims, in_place=in_place)


def whole(name: str, dim: str) -> TensorSpec:
    return TensorSpec(name=name, dtype="int64", dims=(dim,))


TASKS = {
    "swish": task_of(
        SWISH, floats("x", "N", "D"), floats("weight", "D", "D"), floats("bias", "D"), out=floats("out", "N")
    ),
    "norm": task_of(
        NORM, floats("x", "N", "D"), floats("residual", "N", "D", in_place=True), floats("scale"),
        out=floats("out", "D", "N"),
    ),
    "search": task_of(SEARCH, whole("v", "N"), whole("table", "M"), out=whole("out", "N")),
}  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def call(
    library: ctypes.CDLL, task: Task, inputs: dict[str, object], outputs: list[torch.Tensor], sizes: dict[str, int]
) -> int:
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor)] + outputs
    reals = [value for value in inputs.values() if isinstance(value, float)]
    return int(
        library.ke_call(
            (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors)),
            (ctypes.c_int64 * len(task.axes))(*(sizes[axis.name] for axis in task.axes)),
            (ctypes.c_double * max(1, len(reals)))(*reals),
        )
    )


@pytest.mark.parametrize("name", TASKS)
def test_kernels_are_taken_over_for_every_shape(name: str, cache: Path, tmp_path: Path) -> None:
    task, facts, toolchain = TASKS[name], CpuPlatform().facts(), CppToolchain(cache=cache)
    arm = InductorSource(cache=cache).arm(task, facts)
    module = TaskModule(task, tmp_path)
    last = {knob.name: knob.values[-1] for knob in arm.knobs}
    for settings in (arm.defaults(), last):
        candidate = arm.candidate(settings)
        assert toolchain.inspect(task, candidate) is None
        built = toolchain.build(task, candidate, timeout_s=120)
        assert isinstance(built, Artifact), built
        library = ctypes.CDLL(built.path)
        for shape in ({"N": 64, "D": 96}, {"N": 1, "D": 1}, {"N": 37, "D": 131}, {"N": 300, "D": 5}):
            inputs = module.make_inputs(shape, seed=5)
            expected = module.expected(inputs, shape)
            given = copy_inputs(inputs)
            outputs = [torch.full_like(expected["out"].to(getattr(torch, task.outputs[0].dtype)), -7)]
            assert call(library, task, given, outputs, module.bind_sizes(shape, inputs, expected)) == 0
            for spec in task.written:
                got = outputs[0] if spec.name == "out" else given[spec.name]
                torch.testing.assert_close(got.to(expected[spec.name].dtype), expected[spec.name], rtol=1e-4, atol=1e-4)


def test_the_answer_is_kept_for_a_later_process(cache: Path) -> None:
    task, facts = TASKS["norm"], CpuPlatform().facts()
    first = InductorSource(cache=cache).arm(task, facts)
    kept = {path: path.stat().st_mtime_ns for path in (cache / "inductor_source").iterdir()}
    again = InductorSource(cache=cache).arm(task, facts)
    assert again.candidate(again.defaults()).id == first.candidate(first.defaults()).id
    assert kept == {path: path.stat().st_mtime_ns for path in (cache / "inductor_source").iterdir()}


def test_says_what_cannot_be_taken_over(cache: Path) -> None:
    task = task_of(SORT, whole("v", "N"), whole("table", "M"), out=whole("out", "N"))
    with pytest.raises(ProposerError, match=r"it calls torch.ops.aten.sort|calls aten.sort"):
        InductorSource(cache=cache).arm(task, CpuPlatform().facts())


def test_rows_that_may_lie_apart_are_not_taken_over(tmp_path: Path) -> None:
    task = load_task(str(Path(__file__).parents[1] / "attacks" / "tasks" / "pool_decay"))
    with pytest.raises(ProposerError, match=r"take rows back to back \(input state has a pitch\)"):
        InductorSource(cache=tmp_path).arm(task, CpuPlatform().facts())


def test_a_reference_that_hangs_is_given_up(tmp_path: Path) -> None:
    hangs = TASKS["swish"].model_copy(update={"files": (SourceFile(path="reference.py", text="while True: pass\n"),)})
    with pytest.raises(ProposerError, match="took longer than 6 s"):
        extract(hangs, n_threads=1, timeout_s=6)
