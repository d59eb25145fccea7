"""The Task value: dim expressions against Python's own arithmetic, JSON round trip, identity."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelevolve.errors import RecordError
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec, bytes_of, evaluate_dim

SIZES = {"A": 7, "B": 12, "HV": 3, "x_1": 0}


def expressions(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Well-formed dims: sums and products with parentheses, and blanks anywhere between tokens."""

    def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, st.sampled_from(["+", "-", "*", " + ", " * "]), inner).map("".join)
        return pair | inner.map(lambda text: f"({text})") | inner.map(lambda text: f"( {text} ) / 3")

    return st.recursive(leaves, combine, max_leaves=12)


DIMS = expressions(st.sampled_from(sorted(SIZES)) | st.integers(0, 1000).map(str))
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    axes = draw(st.lists(NAMES, unique=True, max_size=3))
    inputs = draw(st.lists(NAMES.filter(lambda name: name not in axes), unique=True, min_size=1, max_size=3))
    dims = st.lists(st.sampled_from([*axes, "3"]), max_size=3).map(tuple)
    shape = {axis: draw(st.integers(0, 100)) for axis in axes}
    return Task(
        name=draw(NAMES),
        summary=draw(st.text(max_size=20)),
        entry="run_it",
        axes=tuple(Axis(name=name, high=100) for name in axes),
        inputs=tuple(TensorSpec(name=name, dtype="float32", dims=draw(dims)) for name in inputs),
        outputs=(TensorSpec(name="OUT", dtype="float32", dims=draw(dims)),),
        rule=Rule(kind="scaled", rtol=draw(st.floats(1e-9, 0.1))),
        shapes=ShapeSets(shown=(shape,), search=(shape,)),
        files=(SourceFile(path="reference.py", text=draw(st.text(max_size=50))),),
    )


@given(DIMS)
def test_a_dim_means_what_python_says(dim: str) -> None:
    assert evaluate_dim(dim, SIZES) == eval(dim.replace("/", "//"), {}, dict(SIZES))


def test_a_dim_with_an_axis_of_unknown_size_says_which() -> None:
    with pytest.raises(KeyError, match="Q"):
        evaluate_dim("A + Q", SIZES)


def test_bytes_of_counts_elements_and_dtypes() -> None:
    specs = (TensorSpec(name="a", dtype="bfloat16", dims=("A", "B + 1")), TensorSpec(name="s", dtype="int64"))
    assert bytes_of(specs, SIZES) == 2 * 7 * 13 + 8


@given(tasks())
def test_json_round_trip_keeps_the_task_and_its_identity(task: Task) -> None:
    again = Task.from_json(task.to_json())
    assert again == task
    assert again.content_id == task.content_id


@given(tasks(), st.randoms(use_true_random=False))
def test_identity_does_not_depend_on_the_order_of_keys(task: Task, random: object) -> None:
    data = json.loads(task.to_json())
    items = list(data.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert Task.from_json(json.dumps(dict(items), indent=2)).content_id == task.content_id


@given(tasks())
def test_any_change_makes_another_task(task: Task) -> None:
    changes: list[dict[str, object]] = [
        {"summary": task.summary + "!"},
        {"entry": "another"},
        {"rule": Rule(kind="scaled", rtol=0.05, rms=0.01)},
        {"files": (*task.files, SourceFile(path="more.py", text=""))},
        {"shapes": ShapeSets(shown=task.shapes.shown, search=(*task.shapes.search, task.shapes.shown[0]))},
    ]
    ids = {task.content_id} | {task.model_copy(update=change).content_id for change in changes}
    assert len(ids) == 1 + len(changes)


@given(tasks())
def test_the_public_task_has_no_hidden_shapes(task: Task) -> None:
    assert task.public().shapes == ShapeSets(shown=task.shapes.shown)
    assert task.public().files == task.files


def test_a_task_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValidationError, match="axis 'Q' is not declared"):
        Task(
            name="t", entry="t", inputs=(TensorSpec(name="x", dtype="int64", dims=("Q",)),),
            outputs=(TensorSpec(name="y", dtype="int64"),), rule=Rule(kind="bitwise"),
            shapes=ShapeSets(shown=({},)), files=(SourceFile(path="r.py", text=""),),
        )  # fmt: skip


def test_text_that_is_no_task_is_a_record_error() -> None:
    with pytest.raises(RecordError, match="not a valid Task"):
        Task.from_json('{"name": "t"}')


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.py", "a/../../x.py", "", "a\\b.py", "a\0.py"])
def test_a_source_file_cannot_leave_its_folder(path: str) -> None:
    with pytest.raises(ValidationError, match="relative path"):
        SourceFile(path=path, text="")


@pytest.mark.parametrize("dim", ["A B", "A + B C", "2 A", "(A) B"])
def test_left_over_words_in_a_dim_are_refused(dim: str) -> None:
    with pytest.raises(ValueError, match="not an expression"):
        evaluate_dim(dim, {"A": 1, "B": 2, "C": 3})
