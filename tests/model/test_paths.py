"""Shape paths: what a `where` means, and what a narrowed task keeps."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.errors import UsageError
from kernelevolve.model.paths import Where, n_shapes, narrowed, operator_id
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec

TASK = Task(
    name="rows",
    entry="rows",
    axes=(
        Axis(name="R", low=1, high=4096), Axis(name="C", low=8, high=1024, multiple_of=8), Axis(name="T", role="input"),
    ),
    inputs=(TensorSpec(name="x", dtype="float32", dims=("R", "C")), TensorSpec(name="t", dtype="float32", dims=("T",))),
    outputs=(TensorSpec(name="out", dtype="float32", dims=("R", "C")),),
    rule=Rule(kind="scaled", rtol=1e-5),
    shapes=ShapeSets(
        shown=({"R": 1, "C": 128}, {"R": 100, "C": 256}), search=({"R": 7, "C": 128},), sealed=({"R": 64, "C": 512},)
    ),
    files=(SourceFile(path="reference.py", text="def reference(x, t): ...\n"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "printed", "inside", "outside"),
    [
        ("B=1", "B=1", (1,), (0, 2)),
        ("B=1..4", "B=1..4", (1, 4), (0, 5)),
        ("B>=16", "B>=16", (16, 10**6), (15,)),
        ("B<=4", "B<=4", (0, 4), (5,)),
        ("B>3", "B>=4", (4,), (3,)),
        ("B<3", "B<=2", (2,), (3,)),
        (" B = 2 , B<=9 ", "B=2", (2,), (3,)),
        ("B>=2,B<=9,", "B=2..9", (2, 9), (1, 10)),
    ],
)
def test_what_a_where_admits(text: str, printed: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    where = Where.parse(text)
    assert str(where) == printed
    assert all(where.admits({"B": size, "K": 3}) for size in inside)
    assert not any(where.admits({"B": size, "K": 3}) for size in outside)


def test_nothing_admits_everything() -> None:
    assert Where.parse("") == Where()
    assert str(Where()) == ""
    assert Where().admits({"B": 3})


@pytest.mark.parametrize(
    ("text", "needle"),
    [("B", "not understood"), ("B==1", "not understood"), ("B=x", "not understood"), ("B>=1..3", "not understood"),
     ("B=-1", "not understood"), ("B=5..2", "no size is at least 5"), ("B=1,B=2", "no size"), ("B<0", "below 0")],
)  # fmt: skip
def test_what_is_no_where_is_said(text: str, needle: str) -> None:
    with pytest.raises(UsageError, match=needle):
        Where.parse(text)


@given(st.dictionaries(st.sampled_from("ABCD"), st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=4))
def test_printing_and_parsing_again_changes_nothing(ranges: dict[str, tuple[int, int]]) -> None:
    text = ",".join(f"{axis}={min(pair)}..{max(pair)}" for axis, pair in ranges.items())
    where = Where.parse(text)
    assert Where.parse(str(where)) == where
    for axis, pair in ranges.items():
        others = {name: min(found) for name, found in ranges.items()}
        assert where.admits({**others, axis: max(pair)})
        assert not where.admits({**others, axis: max(pair) + 1})


def test_a_narrowed_task_is_another_task_that_remembers_where() -> None:
    part = narrowed(TASK, Where.parse("C=128"))
    assert (part.axis("C").low, part.axis("C").high) == (128, 128)
    assert part.axis("R") == TASK.axis("R")
    assert part.shapes == ShapeSets(shown=({"R": 1, "C": 128},), search=({"R": 7, "C": 128},))
    assert part.where == "C=128"
    assert part.content_id != TASK.content_id
    assert Task.from_json(part.to_json()) == part
    assert part.public().where == "C=128"


def test_narrowing_twice_is_narrowing_by_both() -> None:
    twice = narrowed(narrowed(TASK, Where.parse("R<=100")), Where.parse("C>=128,R>=2"))
    assert twice == narrowed(TASK, Where.parse("R=2..100,C>=128"))
    with pytest.raises(UsageError, match="no such size is in the domain"):
        narrowed(twice, Where.parse("R=1"))


@pytest.mark.parametrize(
    ("where", "needle"),
    [
        ("Q=1", r"no shape axis 'Q'; its shape axes: R, C"),
        ("T=1", "no shape axis 'T'"),
        ("C=12", r"C is 8\.\.1024, multiple of 8"),
        ("R>=5000", "no such size"),
        ("R=2", r"no shown shape of rows is left \(R=1 C=128; R=100 C=256\)"),
    ],
)
def test_what_cannot_be_narrowed_is_said(where: str, needle: str) -> None:
    with pytest.raises(UsageError, match=needle):
        narrowed(TASK, Where.parse(where))


def test_bounds_move_to_sizes_that_exist() -> None:
    part = narrowed(TASK, Where.parse("C=121..260"))
    assert (part.axis("C").low, part.axis("C").high) == (128, 256)
    assert n_shapes(part) == 4096 * 17


def test_a_whole_task_keeps_its_text_and_identity() -> None:
    """What was stored before there were paths is read, and hashes to what it did."""
    data = json.loads(TASK.to_json())
    assert "where" not in data
    assert Task.from_json(json.dumps(data)) == TASK
    assert narrowed(TASK, Where()) == TASK
    assert narrowed(TASK, Where()).content_id == TASK.content_id


def test_parts_of_one_operator_are_known_as_such() -> None:
    part = narrowed(TASK, Where.parse("C=128"))
    assert operator_id(part) == operator_id(TASK)
    assert n_shapes(part) < n_shapes(TASK)
    other = TASK.model_copy(update={"rule": Rule(kind="scaled", rtol=1e-4)})
    assert operator_id(other) != operator_id(TASK)
