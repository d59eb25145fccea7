"""Every way to name a task, and what each of them becomes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelevolve.errors import TaskError, UnknownNameError
from kernelevolve.tasks import FORMATS, builtin_names, load_task, make_source

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.parametrize("name", builtin_names())
def test_every_builtin_task_loads(name: str) -> None:
    task = load_task(name)
    assert task.name == name
    assert task.platform == "cpu"
    assert task.shapes.search
    assert task.shapes.sealed


def test_a_folder() -> None:
    task = load_task(str(EXAMPLES / "leaky_gate"))
    assert (task.name, task.family, task.entry, task.format) == ("leaky_gate", "leaky_gate", "leaky_gate", "native")
    assert [axis.name for axis in task.axes] == ["R", "C"]
    assert [(spec.name, spec.dtype, spec.dims) for spec in task.inputs] == [
        ("x", "float32", ("R", "C")),
        ("scale", "float32", ("C",)),
        ("shift", "float32", ("C",)),
        ("slope", "float32", ()),
    ]
    assert [file.path for file in task.files] == ["reference.py"]
    assert task.shapes.shown == ({"R": 512, "C": 1024}, {"R": 64, "C": 4096})
    assert load_task(str(EXAMPLES / "leaky_gate" / "task.toml")) == task


def test_a_single_file() -> None:
    task = load_task(str(EXAMPLES / "scaled_tanh.py"))
    assert task.format == "native"
    assert [spec.dims for spec in task.written] == [("R", "C")]
    assert task.files[0].path == "reference.py"
    assert "def reference(x, scale)" in task.files[0].text


def test_more_python_files_come_along_and_other_files_do_not(tmp_path: Path) -> None:
    for name in ("task.toml", "reference.py", "fast.cpp"):
        (tmp_path / name).write_text((EXAMPLES / "leaky_gate" / name).read_text())
    (tmp_path / "a_helper.py").write_text("K = 1\n")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "junk.py").write_text("")
    assert [file.path for file in load_task(str(tmp_path)).files] == ["reference.py", "a_helper.py"]


def test_a_task_moved_elsewhere_is_the_same_task(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.py"
    copy.write_text((EXAMPLES / "scaled_tanh.py").read_text())
    assert load_task(str(copy)).content_id == load_task(str(EXAMPLES / "scaled_tanh.py")).content_id


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown task 'no_such_thing'; known: "):
        load_task("no_such_thing")


@pytest.mark.parametrize(
    "reference", ["./no_such_thing", "missing.py", "missing.json", "a/b", "x" * 5000 + "/y", "a\0/b"]
)
def test_a_missing_path_is_a_fault(reference: str) -> None:
    with pytest.raises(TaskError, match="no such file or folder"):
        load_task(reference)


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="flashinfer_trace, kernelbench, native"):
        make_source("onnx")
    assert all(make_source(name) for name in FORMATS)


def test_loading_a_task_imports_no_torch() -> None:
    code = (
        "import sys; from kernelevolve.tasks import builtin_names, load_task\n"
        f"load_task({str(EXAMPLES / 'leaky_gate')!r}); [load_task(name) for name in builtin_names()[:2]]\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
