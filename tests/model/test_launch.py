"""launch.toml: what it may say, and what is said back when it may not."""

from __future__ import annotations

import pytest

from kernelevolve.errors import RecordError
from kernelevolve.model.launch import LaunchPlan, evaluate, plan_fault, read_plan
from kernelevolve.model.task import Task

PLAN = """
[[launch]]
kernel = "ns::scale<4, float>"
grid = ["R", "(C+tile-1)/tile", 1]
block = [256, "1", "1"]
shared_bytes = "4*256"
args = ["x", "w", "y", "part", "R", "R*C", "tile"]
[[launch]]
kernel = "finish"
grid = ["1", "1", "1"]
block = ["32", "1", "1"]
[[scratch]]
name = "part"
bytes = "8*R"
[[constant]]
name = "tile"
value = 128
"""


def changed(old: str, new: str) -> str:
    assert old in PLAN
    return PLAN.replace(old, new)


def test_a_plan_reads_and_knows_its_kernels(row_scale: Task) -> None:
    plan = read_plan(PLAN)
    assert plan.kernels == ("ns::scale<4, float>", "finish")
    assert plan.launch[0].grid == ("R", "(C+tile-1)/tile", "1")
    assert plan.known_sizes({"R": 3}) == {"R": 3, "tile": 128}
    assert plan_fault(plan, row_scale) is None
    assert LaunchPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[[launch]]", "[[launches]]", "launches"),
        ('kernel = "finish"', 'kernel = "finish; evil"', "not the name of a kernel"),
        ('kernel = "finish"', 'kernel = "finish<f(1)>"', "not the name of a kernel"),
        ('grid = ["1", "1", "1"]', 'grid = ["1", "1"]', "launch.1.grid"),
        ('grid = ["1", "1", "1"]', 'grid = [1.5, "1", "1"]', "launch.1.grid"),
        ('name = "part"', 'name = "a b"', "scratch.0.name"),
        ("value = 128", 'value = "many"', "constant.0.value"),
        ("value = 128", "value = 128\n[[", "launch.toml"),
        ('bytes = "8*R"', f'bytes = "{"1+" * 150}1"', "scratch.0.bytes"),
    ],
)
def test_what_is_no_plan_is_said(old: str, new: str, words: str) -> None:
    with pytest.raises(RecordError) as error:
        read_plan(changed(old, new))
    assert words in str(error.value)
    assert "launch.toml" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"4*256"', '"4*Q"', "names 'Q', which has no size"),
        ('"part", "R"', '"part", "R", "z"', "launch 1 (ns::scale<4, float>), args"),
        ('"part", "R"', '"part", "x+1"', "names 'x', which has no size"),
        ('name = "part"', 'name = "y"', "scratch 'y': the name is taken"),
        ('name = "tile"', 'name = "R"', "constant 'R': the name is taken"),
        ('"8*R"', '"8*(R"', "not an expression"),
        ('"8*R"', '"8**R"', "'8**R'"),
    ],
)
def test_what_does_not_fit_the_task_is_said(row_scale: Task, old: str, new: str, words: str) -> None:
    assert words in str(plan_fault(read_plan(changed(old, new)), row_scale))


def test_expressions_are_whole_numbers() -> None:
    assert evaluate("(R+255)/256*2-1", {"R": 513}) == 5
    with pytest.raises(ValueError, match="divides by zero"):
        evaluate("1/(R-R)", {"R": 4})
