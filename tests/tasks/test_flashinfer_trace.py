"""flashinfer-trace definitions: axes, constraints, where the sizes come from, and inputs that fit them."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task
from kernelevolve.tasks.constraints import parse_constraint

DEFINITION: dict[str, Any] = {
    "name": "gather_h4",
    "op_type": "gather-rows",
    "description": "rows by index, scaled",
    "axes": {
        "n_rows": {"type": "var", "description": "rows"},
        "len_indptr": {"type": "var"},
        "hidden": {"type": "const", "value": 4},
    },
    "constraints": ["len_indptr == n_rows + 1", "n_rows % 2 == 0"],
    "inputs": {
        "x": {"shape": ["n_rows", "hidden"], "dtype": "bfloat16"},
        "index": {"shape": ["len_indptr"], "dtype": "int32"},
        "keep": {"shape": ["hidden"], "dtype": "bool"},
        "offset": {"shape": [], "dtype": "float32"},
        "scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["n_rows", "hidden"], "dtype": "bfloat16"}},
    "reference": "import torch\n\ndef run(x, index, keep, offset, scale):\n"
    "    assert offset.dim() == 0 and isinstance(scale, float)\n"
    "    return {'y': x * scale * keep + offset.to(x.dtype)}\n",
    "tags": ["any"],
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "gather_h4.json"
    path.write_text(json.dumps({**DEFINITION, **changes}))
    return path


@pytest.fixture
def wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Task, ModuleType]]:
    """The task and its first file, loaded as a judge would."""
    task = load_task(str(written(tmp_path)))
    for file in task.files:
        (tmp_path / file.path).write_text(file.text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield task, importlib.import_module("reference")
    for name in ("reference", "definition_reference"):
        sys.modules.pop(name, None)


def test_axes_dims_rule_and_names(tmp_path: Path) -> None:
    task = load_task(str(written(tmp_path)))
    assert (task.name, task.family, task.dtype, task.format) == (
        "gather_h4",
        "gather_rows",
        "bfloat16",
        "flashinfer_trace",
    )
    assert [axis.name for axis in task.axes] == ["n_rows"]
    assert [spec.dims for spec in task.inputs] == [("n_rows", "4"), ("(n_rows + 1)",), ("4",), (), ()]
    assert task.rule.kind == "scaled"
    assert task.files[1].text == DEFINITION["reference"]


def test_default_sizes_keep_the_constraints(tmp_path: Path) -> None:
    shapes = load_task(str(written(tmp_path))).shapes
    assert [shape["n_rows"] for shape in shapes.shown] == [16, 64]
    assert [shape["n_rows"] for shape in shapes.search] == [4, 128]
    assert [shape["n_rows"] for shape in shapes.sealed] == [48, 100]


def test_sizes_from_shapes_in_the_file(tmp_path: Path) -> None:
    shapes = {"shown": [{"n_rows": 2}], "search": [{"n_rows": 6}], "sealed": [{"n_rows": 8}]}
    assert load_task(str(written(tmp_path, shapes=shapes))).shapes.model_dump(mode="json") == shapes


def test_sizes_from_workloads_in_the_file(tmp_path: Path) -> None:
    work = [{"axes": {"n_rows": size, "len_indptr": size + 1}, "inputs": {}, "uuid": "u"} for size in (2, 4, 6, 8, 2)]
    shapes = load_task(str(written(tmp_path, workloads=work))).shapes
    assert [[shape["n_rows"] for shape in bucket] for bucket in (shapes.shown, shapes.search, shapes.sealed)] == [
        [2, 8],
        [4],
        [6],
    ]


def test_sizes_from_the_workload_file_of_a_trace_set(tmp_path: Path) -> None:
    definitions, workloads = tmp_path / "definitions" / "gather", tmp_path / "workloads" / "gather"
    definitions.mkdir(parents=True)
    workloads.mkdir(parents=True)
    lines = [json.dumps({"definition": "gather_h4", "workload": {"axes": {"n_rows": size}}}) for size in (10, 20, 30)]
    (workloads / "gather_h4.jsonl").write_text("\n".join(lines))
    shapes = load_task(str(written(definitions))).shapes
    assert (shapes.shown, shapes.search, shapes.sealed) == (({"n_rows": 10},), ({"n_rows": 20},), ({"n_rows": 30},))


def test_without_variable_axes_there_is_one_shape(tmp_path: Path) -> None:
    axes = {name: {"type": "const", "value": 4} for name in DEFINITION["axes"]}
    task = load_task(str(written(tmp_path, axes=axes, constraints=None)))
    assert (task.axes, task.shapes.shown, task.shapes.sealed) == ((), ({},), ({},))


def test_inputs_fit_their_declaration_and_the_reference_takes_them(wrapper: tuple[Task, ModuleType]) -> None:
    _, module = wrapper
    inputs = module.make_inputs({"n_rows": 6}, torch.Generator().manual_seed(1), "nominal")
    assert (inputs["x"].dtype, inputs["x"].shape) == (torch.bfloat16, (6, 4))
    assert (inputs["index"].dtype, inputs["index"].shape) == (torch.int32, (7,))
    assert 0 <= int(inputs["index"].min()) <= int(inputs["index"].max()) < 4
    assert inputs["keep"].dtype == torch.bool
    assert isinstance(inputs["offset"], float)
    (output,) = module.reference(**inputs)
    assert output.shape == (6, 4)
    again = module.make_inputs({"n_rows": 6}, torch.Generator().manual_seed(2), "nominal")
    assert not torch.equal(inputs["x"], again["x"])


@pytest.mark.parametrize(
    ("text", "axis", "expression"),
    [
        ("n == b + 1", "n", "(b + 1)"),
        ("b * 2 == n", "n", "(b * 2)"),
        ("n == d // 2", "n", "(8 / 2)"),
        ("n == n + 1", "", ""),
        ("n < b", "", ""),
        ("n == b % 2", "", ""),
    ],
)
def test_constraints_that_define_an_axis(text: str, axis: str, expression: str) -> None:
    constraint = parse_constraint(text, {"n", "b"}, {"d": 8})
    assert constraint is not None
    assert (constraint.axis, constraint.expression) == (axis, expression)


@pytest.mark.parametrize(
    "text",
    ["n == x.item()", "f(n)", "n and b", "n ** 2 == b", "n == 'a'", "n == True", "n", "", "n ==", "+".join("n" * 200)],
)
def test_anything_else_is_no_constraint(text: str) -> None:
    assert parse_constraint(text, {"n", "b"}, {}) is None


def test_a_test_constraint_is_computed() -> None:
    constraint = parse_constraint("2 <= n <= d", {"n"}, {"d": 8})
    assert constraint is not None
    assert [constraint.holds({"n": size}) for size in (1, 2, 8, 9)] == [False, True, True, False]
    division = parse_constraint("d % n == 0", {"n"}, {"d": 8})
    assert division is not None
    assert [division.holds({"n": size}) for size in (0, 4, 5)] == [False, True, False]
