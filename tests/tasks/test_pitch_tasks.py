"""Task files whose tensors have a pitch: what is refused, and in which words; what is said to whoever reads them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from kernelevolve.errors import TaskError, UsageError
from kernelevolve.interfaces.cli.task import _render_task
from kernelevolve.model.paths import Where, narrowed, operator_id
from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.abi import header, prototype

TOML = """\
schema_version = 1
name = "twice"
[axes]
N = { low = 1, high = 100 }
D = { low = 1, high = 100 }
P = { role = "pitch", high = 120, multiple_of = 4 }
[[inputs]]
name = "x"
dtype = "float"
dims = ["N", "D"]
pitch = "P"
[[inputs]]
name = "w"
dtype = "float"
dims = ["D"]
[[outputs]]
name = "out"
dtype = "float"
dims = ["N", "D"]
[rule]
kind = "scaled"
rtol = 1e-5
[platforms.cpu]
shapes.shown = [{ N = 8, D = 7 }]
shapes.search = [{ N = 16, D = 9 }]
shapes.sealed = [{ N = 24, D = 99 }]
"""
PYTHON = """\
import torch
def make_inputs(sizes, rng, variant):
    return {"x": torch.randn(sizes["N"], sizes["D"], generator=rng), "w": torch.randn(sizes["D"], generator=rng)}
def reference(x, w):
    return 2 * x * w
"""
PLAIN_ID = "f200c1d07f13aeddddd2d442356cc5bfa24c9b589745d7192d49f70ebaa9a4ed"
"""Of the same task without its pitch."""
CASES = {
    "of an output": (
        'name = "out"', 'name = "out"\npitch = "P"', ["output out cannot have a pitch: it is contiguous"],
    ),
    "unknown axis": (
        'pitch = "P"', 'pitch = "Q"', [
            "tensor x: pitch axis 'Q' is not declared", 'axis P: role pitch needs an input with pitch = "P"'],
    ),
    "axis of another role": (
        'pitch = "P"', 'pitch = "D"', [
            "tensor x: the role of its pitch axis 'D' must be pitch, is shape",
            'axis P: role pitch needs an input with pitch = "P"'],
    ),
    "one for two": ('name = "w"', 'name = "w"\npitch = "P"', ["axis P: two tensors cannot have one pitch"]),
    "of nothing": ('pitch = "P"\n', "", ['axis P: role pitch needs an input with pitch = "P"']),
    "of a scalar": (
        'name = "w"\ndtype = "float"\ndims = ["D"]', 'name = "w"\ndtype = "float"\npitch = "P"', [
            "tensor w: a scalar has no pitch", "axis P: two tensors cannot have one pitch"],
    ),
    "as a dim": ('dims = ["D"]', 'dims = ["P"]', ["tensor w: pitch axis 'P' cannot stand in dims"]),
    "in a shape": (
        "{ N = 8, D = 7 }", "{ N = 8, D = 7, P = 8 }",
        ["shapes.shown[0]: 'P' is not a shape axis: a pitch is the tensor's own"],
    ),
    "as traffic": (
        'name = "twice"', 'name = "twice"\ntraffic = "4*N*P"',
        ["traffic: 'P' is a pitch, gaps between rows are not moved"],
    ),
    "too small for a shape": (
        "high = 120", "high = 90",
        ["shapes.sealed[0]: rows of x have 99 elements; raise the high of its pitch P from 90"],
    ),
    "unknown key": ('pitch = "P"', 'ptich = "P"', ["inputs.x: unknown key 'ptich'; did you mean 'pitch'?"]),
}  # fmt: skip


def written(folder: Path, toml: str = TOML, python: str = PYTHON) -> str:
    (folder / "task.toml").write_text(toml)
    (folder / "reference.py").write_text(python)
    return str(folder)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return load_task(written(tmp_path))


@pytest.mark.parametrize("what", CASES)
def test_what_makes_no_sense_is_refused_in_one_line_each(tmp_path: Path, what: str) -> None:
    old, new, faults = CASES[what]
    assert TOML.count(old) >= 1
    with pytest.raises(TaskError) as caught:
        load_task(written(tmp_path, TOML.replace(old, new)))
    assert list(caught.value.faults) == faults


def test_the_reference_cannot_ask_for_a_pitch(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="P, which is not a declared input or axis"):
        load_task(written(tmp_path, python=PYTHON.replace("reference(x, w)", "reference(x, w, P)")))


def test_it_is_no_part_of_a_shape_nor_of_a_path(task: Task) -> None:
    with pytest.raises(UsageError, match="no shape axis 'P'; its shape axes: N, D"):
        narrowed(task, Where.parse("P=8"))
    assert narrowed(task, Where.parse("D=7")).pitched == task.pitched
    assert operator_id(narrowed(task, Where.parse("D=7"))) == operator_id(task)


def test_kernels_for_another_range_of_pitches_are_another_operators(task: Task, tmp_path: Path) -> None:
    (tmp_path / "wider").mkdir()
    wider = load_task(written(tmp_path / "wider", TOML.replace("high = 120", "high = 160")))
    assert operator_id(wider) != operator_id(task)


def test_only_a_task_with_a_pitch_has_the_word_in_its_identity(task: Task, tmp_path: Path) -> None:
    plain = TOML.replace('pitch = "P"\n', "").replace('P = { role = "pitch", high = 120, multiple_of = 4 }\n', "")
    (tmp_path / "plain").mkdir()
    assert "pitch" not in load_task(written(tmp_path / "plain", plain)).to_json()
    assert Task.from_json(task.to_json()) == task
    assert '"pitch":"P"' in task.to_json()


def test_identities_from_before_there_were_pitches_stand(tmp_path: Path) -> None:
    plain = TOML.replace('pitch = "P"\n', "").replace('P = { role = "pitch", high = 120, multiple_of = 4 }\n', "")
    assert load_task(written(tmp_path, plain)).content_id == PLAIN_ID


def test_whoever_reads_the_task_is_told(task: Task) -> None:
    text = io.StringIO()
    _render_task(task, prototype(task), Console(file=text, width=120))
    assert "rows P elements apart" in text.getvalue()
    assert "P = a row of x, or a multiple of 4 above it" in text.getvalue()
    assert "int64_t N, int64_t D, int64_t P)" in text.getvalue()
    assert "/* x: rows P elements apart; what lies between is not yours */" in header(task)
