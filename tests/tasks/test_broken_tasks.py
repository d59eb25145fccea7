"""Broken task files: each gives exactly the fault lines a person needs, and nothing of it ever runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelevolve.errors import TaskError
from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task

TOML = """\
schema_version = 1
name = "twice"
[axes]
N = { low = 0, high = 100 }
[[inputs]]
name = "x"
dtype = "float"
dims = ["N"]
[[outputs]]
name = "out"
dtype = "float"
dims = ["N"]
[rule]
kind = "scaled"
rtol = 1e-5
[platforms.cpu]
shapes.shown = [{ N = 8 }]
shapes.search = [{ N = 16 }]
shapes.sealed = [{ N = 24 }]
"""
PYTHON = """\
import torch
def make_inputs(sizes, rng, variant):
    return {"x": torch.randn(sizes["N"], generator=rng)}
def reference(x):
    return 2 * x
"""
DEFINITION: dict[str, object] = {
    "name": "twice",
    "op_type": "scale",
    "axes": {"N": {"type": "var"}, "D": {"type": "const", "value": 4}},
    "inputs": {"x": {"shape": ["N", "D"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["N", "D"], "dtype": "float32"}},
    "reference": "def run(x):\n    return 2 * x\n",
}


def faults_of(path: Path, **options: str) -> tuple[str, ...]:
    with pytest.raises(TaskError) as caught:
        load_task(str(path), **options)
    assert all("\n" not in fault and fault.isprintable() for fault in caught.value.faults)
    return caught.value.faults


def folder(tmp_path: Path, toml: str = TOML, python: str | None = PYTHON) -> Path:
    (tmp_path / "task.toml").write_text(toml)
    if python is not None:
        (tmp_path / "reference.py").write_text(python)
    return tmp_path


def test_the_unbroken_task_loads(tmp_path: Path) -> None:
    assert load_task(str(folder(tmp_path))).name == "twice"


TOML_CASES = {
    "syntax": ("rtol = 1e-5", "rtol = ", ["task.toml: TOML error: Invalid value (at line 15, column 8)"]),
    "unknown key": ('name = "twice"', 'name = "twice"\nsumary = "s"', [
        "unknown key 'sumary'; did you mean 'summary'?"]),
    "unknown axis key": ("high = 100", "hihg = 100", ["axes.N: unknown key 'hihg'; did you mean 'high'?"]),
    "unknown bucket": (
        "shapes.sealed", "shapes.sealled", ["platforms.cpu.shapes: unknown key 'sealled'; did you mean 'sealed'?"],
    ),
    "no name": ('name = "twice"\n', "", ["name: is missing"]),
    "no version": ("schema_version = 1\n", "", ["schema_version: is missing"]),
    "later version": (
        "schema_version = 1", "schema_version = 9", ["schema_version: 9 is not known; this version reads 1"],
    ),
    "number as text": ("high = 100", 'high = "100"', ["axes.N.high: Input should be a valid integer"]),
    "axis upside down": ("low = 0, high = 100", "low = 9, high = 3", ["axes.N: axis N: low 9 is above high 3"]),
    "unknown dtype": (
        'dtype = "float"\ndims = ["N"]\n[[out', 'dtype = "fp32"\ndims = ["N"]\n[[out',
        ["inputs.x.dtype: Input should be 'float64', 'float32', 'float16', 'bfloat16', 'int64', 'int32', 'int16', "
         "'int8', 'uint8' or 'bool'"],
    ),
    "unknown axis": (
        'dims = ["N"]\n[[out', 'dims = ["M"]\n[[out', ["tensor x: axis 'M' is not declared"],
    ),
    "half a dim": (
        'dims = ["N"]\n[[out', 'dims = ["N +"]\n[[out',
        ["inputs.x: dim 'N +' is not an expression over axis names and integers"],
    ),
    "two axes in a dim": (
        'dims = ["N"]\n[[out', 'dims = ["N N"]\n[[out',
        ["inputs.x: dim 'N N' is not an expression over axis names and integers"],
    ),
    "power in a dim": (
        'dims = ["N"]\n[[out', 'dims = ["N ** N"]\n[[out',
        ["inputs.x: dim 'N ** N' may hold axis names, integers and + - * / ( )"],
    ),
    "code in a dim": (
        'dims = ["N"]\n[[out', 'dims = ["__import__(N)"]\n[[out', ["tensor x: axis '__import__' is not declared"],
    ),
    "negative dim": (
        'dims = ["N"]\n[[out', 'dims = ["N - 20"]\n[[out',
        ["shapes.shown[0]: dim 'N - 20' is negative", "shapes.search[0]: dim 'N - 20' is negative"],
    ),
    "division by zero": (
        'dims = ["N"]\n[[out', 'dims = ["8 / (N - 8)"]\n[[out', ["shapes.shown[0]: a dim divides by zero"],
    ),
    "too large": (
        'dims = ["N"]\n[[out', 'dims = ["N * 4294967296"]\n[[out',
        ["shapes.shown[0]: tensors of 128 GiB; at most 16 GiB", "shapes.search[0]: tensors of 256 GiB; at most 16 GiB",
         "shapes.sealed[0]: tensors of 384 GiB; at most 16 GiB"],
    ),
    "size outside": (
        "{ N = 16 }", "{ N = 160 }", ["shapes.search[0]: N=160 is outside the domain 0..100, multiple of 1"],
    ),
    "size missing": ("[{ N = 16 }]", "[{}]", ["shapes.search[0]: axis 'N' has no size"]),
    "no sealed": (
        "shapes.sealed = [{ N = 24 }]\n", "", ["shapes.sealed is empty: give at least one shape"],
    ),
    "sealed is known": (
        "{ N = 24 }", "{ N = 8 }", ["shapes.sealed[0]: also in shown or search; a sealed shape must be a new one"],
    ),
    "no platform": (
        "platforms.cpu", "platforms.cuda", ["platforms: there is no [platforms.cpu] table; the task has cuda"],
    ),
    "loose bitwise": (
        'kind = "scaled"', 'kind = "bitwise"', ["rule: a bitwise rule takes no rtol or rms"],
    ),
    "much too loose": ("rtol = 1e-5", "rtol = 0.5", ["rule.rtol: Input should be less than or equal to 0.1"]),
    "infinite tolerance": ("rtol = 1e-5", "rtol = inf", ["rule.rtol: Input should be a finite number"]),
    "rule without numbers": ("rtol = 1e-5\n", "", ["rule: a scaled rule needs rtol or rms above 0"]),
    "no inputs": (
        '[[inputs]]\nname = "x"\ndtype = "float"\ndims = ["N"]\n', "", ["inputs: is missing"],
    ),
    "inputs as a table": ("[[inputs]]", "[inputs]", ["inputs: must be a list of tables, [[inputs]]"]),
    "C++ word": ('name = "out"', 'name = "double"', [
        "outputs.double: 'double' is a reserved word in C++ or Python; choose another name"]),
    "C function": ('name = "twice"', 'name = "tanh"', [
        "entry: 'tanh' is a C library function; set entry = \"my_tanh\""]),
    "entry": ('name = "twice"', 'name = "twice"\nentry = "2x"', ["entry '2x' must be a C identifier"]),
    "twice the same name": ('name = "out"', 'name = "N"', ["'N' is declared twice"]),
    "input axis nowhere": ("high = 100 }", 'high = 100 }\nE = { role = "input" }', [
        'axes.E: role input needs an input tensor with the dim "E" to read it from']),
    "rollout without state": (
        "[platforms.cpu]", '[rollout]\nstate = "x"\nsteps = 4\nrelative_l2 = 0.01\n[platforms.cpu]', [
        "rollout state 'x' is not an in_place input"]),
    "escape sequences": ('name = "twice"', 'name = "twice"\n"\\u001b[31mred" = 1', [
        "unknown key ' [31mred'; known: schema_version, name, summary, family, entry, axes, inputs, outputs, rule, "
        "rollout, traffic, objective, platforms"]),
    "deep nesting": ("schema_version = 1", f"schema_version = {'[' * 20000}", None),
    "several at once": ('dtype = "float"', 'dtyp = "float"', [
        "inputs.x: the key 'dtype' is missing", "inputs.x: unknown key 'dtyp'; did you mean 'dtype'?",
        "outputs.out: the key 'dtype' is missing", "outputs.out: unknown key 'dtyp'; did you mean 'dtype'?"]),
}  # fmt: skip


@pytest.mark.parametrize("case", TOML_CASES)
def test_broken_toml(tmp_path: Path, case: str) -> None:
    old, new, expected = TOML_CASES[case]
    assert old in TOML
    faults = faults_of(folder(tmp_path, TOML.replace(old, new)))
    assert expected is None or list(faults) == expected


PYTHON_CASES = {
    "syntax": ("return 2 * x", "return 2 *", ["reference.py line 5: Python syntax error: invalid syntax"]),
    "null byte": ("2 * x", "2 * x\0", [
        "reference.py line 1: Python syntax error: source code string cannot contain null bytes"]),
    "no reference": ("def reference", "def refrence", [
        "reference.py: defines no function reference(x) at top level"]),
    "no make_inputs": ("def make_inputs", "def inputs", [
        "reference.py: defines no function make_inputs(sizes, rng, variant) at top level"]),
    "other argument": ("reference(x)", "reference(y)", [
        "reference.py line 4: reference lacks the argument x",
        "reference.py line 4: reference has the argument y, which is not a declared input or axis"]),
    "wrong make_inputs": ("(sizes, rng, variant)", "(sizes, rng)", [
        "reference.py line 2: make_inputs lacks the argument variant"]),
    "star arguments": ("reference(x)", "reference(*x)", [
        "reference.py line 4: reference must list its arguments, without * or **"]),
    "oracle differs": ("def reference", "def oracle(z): pass\ndef reference", [
        "reference.py line 4: oracle lacks the argument x",
        "reference.py line 4: oracle has the argument z, which is not a declared input or axis"]),
    "async": ("def reference", "async def reference", ["reference.py: defines no function reference(x) at top level"]),
    "missing module": ("import torch", "import torch, no_such_module_anywhere.sub", [
        "reference.py line 1: imports 'no_such_module_anywhere', which is neither a file of the task nor installed"]),
    "relative import": ("import torch", "from . import helper", [
        "reference.py line 1: relative import; files of a task import each other by name"]),
    "variants": ("import torch", 'VARIANTS = ("edge", "nominal")', [
        'reference.py line 1: VARIANTS must be a tuple of names that starts with "nominal"']),
    "scales": ("import torch", 'SCALES = ("big",)', [
        "reference.py line 1: SCALES must be a tuple of numbers, () to switch scaling off"]),
    "computed variants": ("import torch", "VARIANTS = names()", [
        "reference.py line 1: VARIANTS must be a literal tuple"]),
    "deep nesting": ("2 * x", "(" * 5000 + "x" + ")" * 5000, None),
}  # fmt: skip


@pytest.mark.parametrize("case", PYTHON_CASES)
def test_broken_python(tmp_path: Path, case: str) -> None:
    old, new, expected = PYTHON_CASES[case]
    assert old in PYTHON
    faults = faults_of(folder(tmp_path, python=PYTHON.replace(old, new)))
    assert expected is None or list(faults) == expected


def test_faults_of_both_files_are_reported_together(tmp_path: Path) -> None:
    faults = faults_of(folder(tmp_path, TOML.replace("high = 100", "hi = 100"), "def reference(y): pass\n"))
    assert len(faults) == 4


def _fifo(path: Path) -> None:
    folder(path, python=None)
    os.mkfifo(path / "reference.py")


def _link(path: Path) -> None:
    folder(path, python=None)
    (path / "reference.py").symlink_to("/etc/passwd")


def _not_text(path: Path) -> None:
    folder(path, python=None)
    (path / "reference.py").write_bytes(b"\xff\xfe")


def _huge(path: Path) -> None:
    folder(path, python="#" * (2**20 + 1))


def _many(path: Path) -> None:
    folder(path)
    for index in range(100):
        (path / f"f{index}.py").write_text("")


def _odd_name(path: Path) -> None:
    folder(path)
    (path / "a\\b.py").write_text("")


def _toml_is_a_folder(path: Path) -> None:
    (path / "task.toml").mkdir()


FILE_CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no reference.py": (lambda path: folder(path, python=None), "reference.py is missing: it defines make_inputs"),
    "a pipe": (_fifo, "reference.py: is not a regular file"),
    "a link": (_link, "reference.py: is a link; put the file itself into the folder"),
    "not text": (_not_text, "reference.py: is not UTF-8 text (byte 0)"),
    "a huge file": (_huge, "reference.py: is larger than 1 MiB; a task holds source text only"),
    "a hundred files": (_many, "the folder holds 101 Python files; a task has at most 64"),
    "a backslash in a name": (_odd_name, "'a\\\\b.py': a file name may hold ASCII letters"),
    "task.toml is a folder": (_toml_is_a_folder, "task.toml: "),
    "an empty folder": (lambda path: None, "the folder has no task.toml; a task is task.toml + reference.py"),
}


@pytest.mark.parametrize("case", FILE_CASES)
def test_broken_folders(tmp_path: Path, case: str) -> None:
    build, expected = FILE_CASES[case]
    build(tmp_path)
    assert any(fault.startswith(expected) for fault in faults_of(tmp_path))


SINGLE_CASES = {
    "no block": ("x = 1\n", "not a task: expected a '# /// task' comment block"),
    "syntax error": ("x = = 1\n", "task.py line 1: Python syntax error: invalid syntax"),
    "not closed": ("# /// task\n# a = 1", "task.py: the '# /// task' block is not closed with '# ///'"),
    "a line without #": ("# /// task\na = 1\n# ///\n", "task.py line 2: the task block needs '# ' on every line"),
    "two blocks": (
        "# /// task\n# ///\n# /// task\n# ///\n",
        "task.py: has 2 '# /// task' blocks; a task has exactly one",
    ),
    "TOML error": ("\n# /// task\n# a = 1\n# b =\n# ///\n", "task.py: TOML error: Invalid value (at line 4, column 4)"),
}


@pytest.mark.parametrize("case", SINGLE_CASES)
def test_broken_single_files(tmp_path: Path, case: str) -> None:
    text, expected = SINGLE_CASES[case]
    path = tmp_path / "task.py"
    path.write_text(text)
    assert any(fault.startswith(expected) for fault in faults_of(path))


DEFINITION_CASES: dict[str, tuple[dict[str, object], list[str]]] = {
    "axis type": ({"axes": {"N": {"type": "const"}}}, ["axes.N.const.value: Field required"]),
    "no outputs": ({"outputs": {}}, ["outputs: Dictionary should have at least 1 item after validation, not 0"]),
    "float8": (
        {"outputs": {"y": {"shape": ["N"], "dtype": "float8_e4m3fn"}}},
        ["outputs.y.dtype: Input should be 'float64', 'float32', 'float16', 'bfloat16', 'int64', 'int32', 'int16', "
         "'int8', 'uint8' or 'bool'"],
    ),
    "unknown axis": (
        {"outputs": {"y": {"shape": ["M"], "dtype": "float32"}}}, ["y: axis 'M' is not declared"],
    ),
    "no run": ({"reference": "def go(x): pass"}, ["reference: defines no function run(...)"]),
    "run differs": (
        {"reference": "def run(z): pass"},
        ["reference line 1: run lacks the argument x",
         "reference line 1: run has the argument z, which is not a declared input or axis"],
    ),
    "reference syntax": ({"reference": "def run(x)"}, ["reference line 1: Python syntax error: expected ':'"]),
    "code as a name": (
        {"inputs": {"x):\n import os": {"shape": ["N"], "dtype": "float32"}}, "reference": "def run(x): pass"},
        ["'x):\\n import os' must be an ASCII identifier", "reference line 1: run lacks the argument x): import os",
         "reference line 1: run has the argument x, which is not a declared input or axis"],
    ),
    "constraint on content": (
        {"constraints": ["N == x[-1].item()"]},
        ["constraint 'N == x[-1].item()': only comparisons of axes can be kept by generated inputs; write a native "
         "task with a make_inputs of your own"],
    ),
    "shapes break a constraint": (
        {"constraints": ["N % 16 == 0"],
         "shapes": {"shown": [{"N": 16}], "search": [{"N": 20}], "sealed": [{"N": 32}]}},
        ["shapes.search[0]: breaks a constraint"],
    ),
    "workload without the axis": (
        {"workloads": [{"axes": {"Q": 4}}]}, ["shapes.shown[0]: axis 'N' has no size"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DEFINITION_CASES)
def test_broken_definitions(tmp_path: Path, case: str) -> None:
    change, expected = DEFINITION_CASES[case]
    path = tmp_path / "twice.json"
    path.write_text(json.dumps({**DEFINITION, **change}))
    assert list(faults_of(path)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "twice.json line 1: JSON error: Expecting property name enclosed in double quotes"),
        ("[1]", "twice.json: a definition is a JSON object"),
        ("[" * 100000, "twice.json: JSON error: maximum recursion depth exceeded"),
    ],
)
def test_broken_json(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "twice.json"
    path.write_text(text)
    assert faults_of(path)[0].startswith(expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_files_give_faults_or_a_task_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Cut a stretch out of a good task and put noise there: whatever comes out, it is no other exception."""
    base = tmp_path_factory.mktemp("damaged")
    which = data.draw(st.sampled_from(["toml", "python", "json"]))
    text = {"toml": TOML, "python": PYTHON, "json": json.dumps(DEFINITION)}[which]
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 12)))
    damaged = text[:start] + data.draw(st.text(max_size=6)) + text[stop:]
    if which == "json":
        path = base / "twice.json"
        path.write_bytes(damaged.encode("utf-8", "surrogatepass"))
    else:
        path = folder(base)
        name = "task.toml" if which == "toml" else "reference.py"
        (path / name).write_bytes(damaged.encode("utf-8", "surrogatepass"))
    try:
        outcome: Task | TaskError = load_task(str(path))
    except TaskError as error:
        outcome = error
    if isinstance(outcome, TaskError):
        assert outcome.faults
        assert all(fault.isprintable() for fault in outcome.faults)
    else:
        assert outcome.content_id
