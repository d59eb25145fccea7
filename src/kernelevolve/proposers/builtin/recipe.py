"""A recipe: a source file that says in its header what it is, where it fits, and which settings it has.

`name.cpp` is C++ for the CPU; `name.cu` and `name.py` are CUDA and Triton, with `name.launch.toml` beside them. The
header is the first block of comment lines; it ends at the first line that is not one, or at a bare comment mark:

    // recipe: hash_gather                  the file's name
    // family: map_id                       the folder's name
    // summary: one line
    // isa: avx512f avx512dq                optional: needs all of them
    // dtype: float32 float64               optional: the task's dtype is one of these
    // where: K = 128                       optional: the task pins this axis so; also AXIS <= value, AXIS % divisor
    // fastmath: no                         optional: never relax floating-point rules
    // knob UNROLL = 4 1 2 8                a macro (in a launch plan a constant) and its values, the default first
    // order: 20                            small is tried first
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pydantic import Field

from kernelevolve.errors import RecordError
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.model.value import Value
from kernelevolve.toolchains import runs_on

RECIPES = Path(__file__).parent / "recipes"

LANGUAGES = {".cpp": "cpp", ".cu": "cuda", ".py": "triton"}
PLAN_SUFFIX = ".launch.toml"
_MARKS = {"cpp": "//", "cuda": "//", "triton": "#"}
_ENTRY = re.compile(r"^([a-z]+): ?(.*)$")
_KNOB = re.compile(r"^knob ([A-Za-z_]\w*) ?= ?(.*)$")
_WHERE = re.compile(r"^([A-Za-z_]\w*) *(=|<=|%) *(\d+)$")
_WORD = re.compile(r"^[\w.+-]+$")
_REQUIRED = ("recipe", "family", "summary", "order")
_KNOWN = (*_REQUIRED, "isa", "dtype", "fastmath", "where")


class Knob(Value):
    name: str
    values: tuple[str, ...] = Field(min_length=1, description="the default first")

    @property
    def default(self) -> str:
        return self.values[0]


class Condition(Value):
    """On the sizes an axis of the task may have."""

    axis: str
    relation: str
    value: int

    def holds(self, task: Task) -> bool:
        axis = next((axis for axis in task.axes if axis.name == self.axis), None)
        if axis is None:
            return False
        if self.relation == "<=":
            return axis.high <= self.value
        if self.relation == "%":
            return axis.multiple_of % self.value == 0 or (axis.low == axis.high and axis.low % self.value == 0)
        return axis.low == axis.high == self.value


class Recipe(Value):
    language: str = "cpp"
    name: str
    family: str
    summary: str
    order: int
    isa: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    fast_math: bool = True
    knobs: tuple[Knob, ...] = ()
    where: tuple[Condition, ...] = ()
    source: str
    plan: str = Field(default="", description="launch.toml without its constants")

    @property
    def title(self) -> str:
        return f"{self.family}/{self.name}"

    def fits(self, task: Task, facts: PlatformFacts) -> bool:
        return (
            self.family == (task.family or task.name)
            and runs_on(self.language, task.platform)
            and all(condition.holds(task) for condition in self.where)
            and set(self.isa) <= set(facts.isa)
            and (not self.dtypes or task.dtype in self.dtypes)
        )


def parse_recipe(text: str, *, where: str, language: str = "cpp", plan: str = "") -> Recipe:
    """Raises RecordError with `where` and the line for the first thing that is wrong."""
    entries: dict[str, str] = {}
    knobs: list[Knob] = []
    conditions: list[Condition] = []
    mark = _MARKS[language]
    for number, line in enumerate(_header(text, mark), 1):
        place = f"{where}:{number}"
        if match := _KNOB.match(line):
            knobs.append(_knob(match[1], match[2].split(), taken={knob.name for knob in knobs}, place=place))
        elif match := _ENTRY.match(line):
            key, value = match[1], match[2].strip()
            if key == "where":
                conditions.append(_condition(value, place))
                continue
            if key not in _KNOWN:
                raise RecordError(f"{place}: unknown key '{key}'; known: {', '.join(_KNOWN)}, knob NAME = values")
            if key in entries or not value:
                raise RecordError(f"{place}: '{key}' is " + ("given twice" if key in entries else "empty"))
            entries[key] = value
        else:
            raise RecordError(
                f"{place}: expected '{mark} key: value' or '{mark} knob NAME = values' ('{mark}' alone ends the header)"
            )
    if missing := [key for key in _REQUIRED if key not in entries]:
        raise RecordError(f"{where}: the header has no '{missing[0]}'")
    if not re.fullmatch(r"\d+", entries["order"]):
        raise RecordError(f"{where}: order '{entries['order']}' is not a whole number")
    if entries.get("fastmath", "yes") not in ("yes", "no"):
        raise RecordError(f"{where}: fastmath is 'yes' or 'no', not '{entries['fastmath']}'")
    return Recipe(
        language=language, plan=plan, where=tuple(conditions), knobs=tuple(knobs), source=text,
        name=entries["recipe"], family=entries["family"], summary=entries["summary"], order=int(entries["order"]),
        isa=tuple(entries.get("isa", "").split()), dtypes=tuple(entries.get("dtype", "").split()),
        fast_math=entries.get("fastmath", "yes") == "yes",
    )  # fmt: skip


def load_recipe(path: Path) -> Recipe:
    """A recipe from its file, whose folder is the family and whose name is the recipe's. Raises RecordError."""
    language, plan = LANGUAGES[path.suffix], path.with_name(path.stem + PLAN_SUFFIX)
    if language != "cpp" and not plan.exists():
        raise RecordError(f"{path.parent.name}/{path.name}: there is no {plan.name} beside it")
    recipe = parse_recipe(
        path.read_text(), where=f"{path.parent.name}/{path.name}", language=language,
        plan=plan.read_text() if language != "cpp" else "",
    )  # fmt: skip
    if recipe.title != f"{path.parent.name}/{path.stem}":
        raise RecordError(f"{path.parent.name}/{path.name}: calls itself {recipe.title}")
    return recipe


@cache
def family_recipes(family: str, folder: Path = RECIPES) -> tuple[Recipe, ...]:
    """The shipped recipes of an operator family, in the order to try them. Raises RecordError."""
    paths = [path for path in sorted((folder / family).glob("*")) if path.suffix in LANGUAGES]
    recipes = [load_recipe(path) for path in paths]
    return tuple(sorted(recipes, key=lambda recipe: (recipe.order, recipe.name)))


def _header(text: str, mark: str) -> list[str]:
    """Its lines without the comment mark."""
    lines = []
    for line in text.splitlines():
        if not line.startswith(mark) or line.strip() == mark:
            break
        lines.append(line.removeprefix(mark).strip())
    return lines


def _condition(text: str, place: str) -> Condition:
    match = _WHERE.match(text)
    if match is None:
        raise RecordError(f"{place}: where is AXIS = value, AXIS <= value or AXIS % divisor, not '{text}'")
    return Condition(axis=match[1], relation=match[2], value=int(match[3]))


def _knob(name: str, values: list[str], *, taken: set[str], place: str) -> Knob:
    if name in taken:
        raise RecordError(f"{place}: knob {name} is given twice")
    if name.startswith("KE_"):
        raise RecordError(f"{place}: knob {name}: names that start with KE_ are the framework's")
    if not values:
        raise RecordError(f"{place}: knob {name} has no values")
    if len(set(values)) != len(values):
        raise RecordError(f"{place}: knob {name} has a value twice")
    if bad := [value for value in values if not _WORD.match(value)]:
        raise RecordError(f"{place}: knob {name}: '{bad[0]}' is not a plain word or number")
    return Knob(name=name, values=tuple(values))
