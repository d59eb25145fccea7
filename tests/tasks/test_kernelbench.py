"""KernelBench files: what a good one becomes, and that a hostile one costs a fault line and nothing else."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from kernelevolve.errors import TaskError
from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task
from kernelevolve.tasks.kernelbench import Facts, Found, KernelBenchSource, kernelbench_rule
from kernelevolve.tasks.kernelbench_facts import Unsuitable, examine

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "kernelbench_swish_norm.py"

MIXED = """\
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.conv = nn.Conv1d(n_in, n_out, 3)
        self.norm = nn.BatchNorm1d(n_out)
        self.alpha = nn.Parameter(torch.tensor(0.5))
        self.register_buffer("switch", torch.tril(torch.ones(6, 6)))
    def forward(self, x, shift, flag):
        y = self.norm(self.conv(x)) * self.switch[0, 0] * self.alpha + shift
        return (y if flag else -y), [x.argmax(-1)]
def get_inputs():
    return [torch.rand(4, 3, 8), 3.5, True]
def get_init_inputs():
    return [3, 5]
"""


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in the child process: threads only wait for each other at these sizes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Loaded:
    """A task whose first file is loaded, as a judge would do it."""

    def __init__(self, task: Task, module: ModuleType) -> None:
        self.task = task
        self.module = module

    def inputs(self, seed: int, variant: str = "nominal") -> dict[str, Any]:
        made: dict[str, Any] = self.module.make_inputs({}, torch.Generator().manual_seed(seed), variant)
        return made

    def answers(self, function: str, inputs: dict[str, Any]) -> list[torch.Tensor]:
        results = getattr(self.module, function)(**inputs)
        return [results] if isinstance(results, torch.Tensor) else list(results)


def loaded(path: Path, folder: Path) -> Loaded:
    task = load_task(str(path))
    for file in task.files:
        (folder / file.path).write_text(file.text)
    names = [file.path.removesuffix(".py") for file in task.files]
    sys.path.insert(0, str(folder))
    try:
        return Loaded(task, importlib.import_module(names[0]))
    finally:
        sys.path.remove(str(folder))
        for name in names:  # two tasks use the same module names
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return loaded(EXAMPLE, tmp_path_factory.mktemp("example"))


@pytest.fixture
def mixed(tmp_path: Path) -> Loaded:
    path = tmp_path / "12_Mixed.py"
    path.write_text(MIXED)
    return loaded(path, tmp_path)


def test_parameters_become_static_inputs(example: Loaded) -> None:
    task = example.task
    assert (task.name, task.format, task.axes) == ("kernelbench_swish_norm", "kernelbench", ())
    assert [(spec.name, spec.dims, spec.static) for spec in task.inputs] == [
        ("x", ("512", "1024"), False),
        ("p_slope", ("1024",), True),
        ("p_bias", ("1024",), True),
    ]
    assert [(spec.name, spec.dtype, spec.dims) for spec in task.outputs] == [("out", "float32", ("512", "1024"))]
    assert (task.shapes.shown, task.shapes.search, task.shapes.sealed) == (({},), ({},), ({},))
    assert (task.rule.kind, task.rule.rtol, task.rule.rms) == ("scaled", 1e-4, 1e-4)
    assert task.files[1].text == EXAMPLE.read_text()


def test_the_answer_is_the_models(example: Loaded) -> None:
    inputs = example.inputs(1)
    x, slope, bias = inputs["x"], inputs["p_slope"], inputs["p_bias"]
    y = x * torch.sigmoid(slope * x) + bias
    (answer,) = example.answers("reference", inputs)
    torch.testing.assert_close(answer, y - y.mean(1, keepdim=True))
    (exact,) = example.answers("oracle", {name: value.double() for name, value in inputs.items()})
    assert exact.dtype == torch.float64
    torch.testing.assert_close(exact.float(), answer, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "initial"), [("p_slope", 1.0), ("p_bias", 0.0)])
def test_a_kernel_that_leaves_a_parameter_out_is_wrong(example: Loaded, name: str, initial: float) -> None:
    inputs = example.inputs(2)
    (right,) = example.answers("reference", inputs)
    (lazy,) = example.answers("reference", {**inputs, name: torch.full_like(inputs[name], initial)})
    rule = example.task.rule
    allowed = rule.rtol * right.abs() + rule.rms * right.square().mean().sqrt()
    assert bool(((lazy - right).abs() > 3 * allowed).any())


def test_inputs_come_from_the_generator_alone(example: Loaded) -> None:
    torch.manual_seed(1)
    first = example.inputs(3)
    torch.manual_seed(2)
    same, other, normal = example.inputs(3), example.inputs(4), example.inputs(3, "normal")
    for name, value in first.items():
        assert torch.equal(value, same[name])
        assert not torch.equal(value, other[name])
    assert not torch.equal(first["x"], normal["x"])


def test_numbers_buffers_and_several_outputs(mixed: Loaded) -> None:
    task = mixed.task
    assert task.name == task.entry == "k12_mixed"
    assert {spec.name: spec.dims for spec in task.inputs} == {
        "x": ("4", "3", "8"), "shift": (), "flag": (), "p_alpha": (), "p_conv_weight": ("5", "3", "3"),
        "p_conv_bias": ("5",), "p_norm_weight": ("5",), "p_norm_bias": ("5",), "p_switch": ("6", "6"),
    }  # fmt: skip
    assert [(spec.name, spec.dtype, spec.dims) for spec in task.outputs] == [
        ("out0", "float32", ("4", "5", "6")),
        ("out1", "int64", ("4", "3")),
    ]
    inputs = mixed.inputs(1)
    assert (inputs["shift"], type(inputs["p_alpha"])) == (3.5, float)
    answer, index = mixed.answers("reference", {**inputs, "flag": 1})
    negated, _ = mixed.answers("reference", {**inputs, "flag": 0})
    assert torch.equal(answer, -negated)
    assert torch.equal(index, inputs["x"].argmax(-1))
    again, _ = mixed.answers("reference", {**inputs, "flag": 1})
    assert torch.equal(answer, again)


HEAD = "import torch\nimport torch.nn as nn\n"
PLAIN = """\
class Model(nn.Module):
    def forward(self, x):
        return {body}
def get_inputs():
    return [torch.rand(8, 8)]
"""


def plain(body: str) -> str:
    return HEAD + PLAIN.format(body=body)


UNRUN = "class Model:\n    def forward(self, x): pass\ndef get_inputs(): pass\n"
HOSTILE = {
    "loops forever": (f"{UNRUN}while True: pass\n", "did not finish within 2 s; look for an endless loop"),
    "sleeps forever": (f"{UNRUN}import time\ntime.sleep(1e6)\n", "did not finish within 2 s"),
    "exits 0": (f"{UNRUN}import os\nos._exit(0)\n", "ended the Python process (exit code 0); remove the call"),
    "sys.exit": (f"{UNRUN}import sys\nsys.exit(0)\n", "line 5: ends the Python process (sys.exit); remove the call"),
    "raises": (f"{UNRUN}raise ValueError('first\\nsecond \\x1b[31m')\n", "line 4: ValueError: first second [31m"),
    "hides behind BaseException": (f"{UNRUN}raise KeyboardInterrupt\n", "line 4: KeyboardInterrupt"),
    "100 GB": (f"{UNRUN}x = bytearray(100 << 30)\n", "line 4: needs more memory than a problem may use"),
    "forks": (f"{UNRUN}import os\nwhile os.fork() >= 0: pass\n", "line 5: PermissionError: "),
    "starts a program": (f"{UNRUN}import os\nos.posix_spawn('/bin/sh', ['sh'], {{}})\n", "line 5: PermissionError: "),
    "writes files": (f"{UNRUN}open('left_behind', 'w').write('x')\n", "line 4: PermissionError: "),
    "uses the network": (f"{UNRUN}import socket\nsocket.socket()\n", "line 5: PermissionError: "),
    "kills its parent": (f"{UNRUN}import os\nos.kill(os.getppid(), 9)\n", "line 5: PermissionError: "),
    "crashes": (f"{UNRUN}import ctypes\nctypes.string_at(0)\n", "crashed with SIGSEGV"),
    "answers itself": (
        f"{UNRUN}import os, sys\nos.write(int(sys.argv[1]), b'{{\"facts\": 1}}')\nos._exit(0)\n",
        "the file tampered with the process that examines it",
    ),
    "answers without end": (
        f"{UNRUN}import os, sys\nwhile True: os.write(int(sys.argv[1]), b'x' * 65536)\n",
        "answered with too much data",
    ),
    "an error in forward": (plain("x @ torch.ones(3, 3)"), "line 5: RuntimeError: mat1 and mat2"),
    "100 GB tensor": (plain("torch.empty(25 << 30)"), "line 5: needs more memory than a problem may use"),
    "unsuitable": (plain("{'y': x}"), "forward returns a dict; only tensors can be compared"),
    "deep recursion": (f"{UNRUN}def f(): f()\nf()\n", "line 4: RecursionError"),
}
STATIC = {
    "syntax": ("class Model:\n  def forward(self)\n", "Python syntax error"),
    "no Model": ("def get_inputs(): pass\n", "defines no class Model"),
    "no forward": ("class Model: pass\ndef get_inputs(): pass\n", "line 1: class Model defines no forward"),
    "no get_inputs": ("class Model:\n    def forward(self, x): pass\n", "defines no function get_inputs()"),
    "missing module": (f"import not_there_at_all\n{UNRUN}", "line 1: imports 'not_there_at_all'"),
}
UNSUITABLE = {
    "all zeros": (plain("torch.relu(-1 - x * x)"), "the answer is the same for all inputs within the tolerance"),
    "dropout": (plain("nn.functional.dropout(x)"), "forward gives two answers for the same inputs"),
    "changes its input": (plain("x.mul_(2)"), "forward changes its argument x"),
    "not finite": (plain("x / 0"), "the answer is not finite for the problem's own inputs"),
    "complex": (plain("torch.fft.fft(x)"), "the output is a torch.strided tensor of complex64 on cpu"),
    "a list argument": (plain("x").replace("[torch", "[[1], torch"), "get_inputs gives 2 values"),
    "text argument": (plain("x").replace("torch.rand(8, 8)", "'a'"), "x is a str; only tensors and plain numbers"),
    "changing shapes": (
        plain("x").replace("rand(8, 8)", "rand(8, int(torch.randint(1, 99, ())))"),
        "get_inputs gives other shapes when called again",
    ),
    "hidden random weights": (
        HEAD + "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.randn(8)\n    def forward(self, x):\n        return x * self.w\n"
        "def get_inputs():\n    return [torch.rand(8, 8)]\n",
        "the answer depends on random values that are neither inputs, parameters nor buffers",
    ),
    "a counter": (
        HEAD + "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('n', torch.zeros(()))\n    def forward(self, x):\n        self.n += 1e-6\n"
        "        return x * (1 + self.n)\ndef get_inputs():\n    return [torch.rand(8, 8)]\n",
        "forward carries state in the buffer n from call to call",
    ),
}


def fault_of(tmp_path: Path, source: str, timeout_s: float) -> str:
    path = tmp_path / "problem.py"
    path.write_text(source)
    assert KernelBenchSource().matches(path) or "syntax" in tmp_path.name
    start = time.monotonic()
    with pytest.raises(TaskError) as caught:
        KernelBenchSource(timeout_s=timeout_s).load(path, platform="cpu")
    assert time.monotonic() - start < timeout_s + 5
    (fault,) = caught.value.faults
    assert fault.isprintable()
    assert not (tmp_path / "left_behind").exists()
    return fault


@pytest.mark.parametrize("case", STATIC)
def test_static_faults(tmp_path: Path, case: str) -> None:
    source, expected = STATIC[case]
    assert expected in fault_of(tmp_path, source, 1.0)


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files(tmp_path: Path, case: str) -> None:
    source, expected = HOSTILE[case]
    assert fault_of(tmp_path, source, 2.0 if "forever" in case else 30.0).startswith(expected)


def module_of(source: str) -> ModuleType:
    """A problem of our own as a module; strangers' only ever become one in the child process."""
    module = ModuleType("kernelbench_model")
    exec(source, module.__dict__)
    return module


@pytest.mark.parametrize("case", UNSUITABLE)
def test_problems_that_cannot_be_judged(case: str) -> None:
    source, expected = UNSUITABLE[case]
    with pytest.raises(Unsuitable) as caught:
        examine(module_of(source), deadline=time.monotonic() + 60)
    assert str(caught.value).startswith(expected)


def test_the_same_problem_gives_the_same_facts() -> None:
    first, second = (examine(module_of(MIXED), deadline=time.monotonic() + 60) for _ in range(2))
    assert first == second
    assert first["own_error"] is not None
    assert first["own_error"] < 0.25


def test_a_small_parameter_is_drawn_wide_enough_to_matter() -> None:
    source = (
        HEAD + "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.bias = nn.Parameter(torch.zeros(8))\n    def forward(self, x):\n"
        "        return 1e3 * x + self.bias\ndef get_inputs():\n    return [torch.rand(8, 8)]\n"
    )
    (bias,) = examine(module_of(source), deadline=time.monotonic() + 60)["parameters"]
    assert (bias["mean"], bias["spread"]) == (0.0, 25.0)


def test_a_problem_that_rounds_badly_gets_a_wider_rule_and_a_hopeless_one_none() -> None:
    def rms(own_error: float | None) -> tuple[float, bool]:
        found = Found(name="", dtype="float32", shape=(8,), number=False)
        rule, fault = kernelbench_rule(
            Facts(
                arguments=(found,), parameters=(), buffers=(), outputs=(found,), variants=("nominal",), scales=(),
                own_error=own_error,
            )
        )  # fmt: skip
        return rule.rms, bool(fault)

    assert [rms(error) for error in (0.0, 0.02, 0.2, 2.0, None)] == [
        (1e-4, False), (1e-4, False), (1e-3, False), (1e-2, False), (1e-3, False),
    ]  # fmt: skip
    assert rms(3.0)[1]


def test_scales_and_variants_without_a_finite_answer_are_left_out() -> None:
    facts = examine(module_of(plain("torch.log(x)")), deadline=time.monotonic() + 60)
    assert (facts["variants"], facts["scales"]) == (["nominal"], [3.0, 0.01])


def test_garbage_on_standard_output_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "noisy.py"
    path.write_text('import os\nos.write(1, b"{}" * 100)\nprint("\\x00 garbage")\n' + plain("x * 2"))
    assert load_task(str(path)).name == "noisy"
