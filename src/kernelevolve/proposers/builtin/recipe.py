"""A recipe: a C++ file that says in its header what it is, where it fits, and which settings it has.

The header is the first block of `//` lines; it ends at the first line that is not one, or at a bare `//`:

    // recipe: hash_gather                  the file's name
    // family: map_id                       the folder's name
    // summary: one line
    // isa: avx512f avx512dq                optional: needs all of them
    // dtype: float32 float64               optional: the task's dtype is one of these
    // fastmath: no                         optional: never relax floating-point rules
    // knob UNROLL = 4 1 2 8                a macro and its values, the default first
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

RECIPES = Path(__file__).parent / "recipes"

_ENTRY = re.compile(r"^// ?([a-z]+): ?(.*)$")
_KNOB = re.compile(r"^// ?knob ([A-Za-z_]\w*) ?= ?(.*)$")
_WORD = re.compile(r"^[\w.+-]+$")
_REQUIRED = ("recipe", "family", "summary", "order")
_KNOWN = (*_REQUIRED, "isa", "dtype", "fastmath")


class Knob(Value):
    name: str
    values: tuple[str, ...] = Field(min_length=1, description="the default first")

    @property
    def default(self) -> str:
        return self.values[0]


class Recipe(Value):
    name: str
    family: str
    summary: str
    order: int
    isa: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    fast_math: bool = True
    knobs: tuple[Knob, ...] = ()
    source: str

    @property
    def title(self) -> str:
        return f"{self.family}/{self.name}"

    def fits(self, task: Task, facts: PlatformFacts) -> bool:
        return (
            self.family == (task.family or task.name)
            and set(self.isa) <= set(facts.isa)
            and (not self.dtypes or task.dtype in self.dtypes)
        )


def parse_recipe(text: str, *, where: str) -> Recipe:
    """Raises RecordError with `where` and the line for the first thing that is wrong."""
    entries: dict[str, str] = {}
    knobs: list[Knob] = []
    for number, line in enumerate(_header(text), 1):
        place = f"{where}:{number}"
        if match := _KNOB.match(line):
            knobs.append(_knob(match[1], match[2].split(), taken={knob.name for knob in knobs}, place=place))
        elif match := _ENTRY.match(line):
            key, value = match[1], match[2].strip()
            if key not in _KNOWN:
                raise RecordError(f"{place}: unknown key '{key}'; known: {', '.join(_KNOWN)}, knob NAME = values")
            if key in entries or not value:
                raise RecordError(f"{place}: '{key}' is " + ("given twice" if key in entries else "empty"))
            entries[key] = value
        else:
            raise RecordError(
                f"{place}: expected '// key: value' or '// knob NAME = values' (a bare '//' ends the header)"
            )
    if missing := [key for key in _REQUIRED if key not in entries]:
        raise RecordError(f"{where}: the header has no '{missing[0]}'")
    if not re.fullmatch(r"\d+", entries["order"]):
        raise RecordError(f"{where}: order '{entries['order']}' is not a whole number")
    if entries.get("fastmath", "yes") not in ("yes", "no"):
        raise RecordError(f"{where}: fastmath is 'yes' or 'no', not '{entries['fastmath']}'")
    return Recipe(
        name=entries["recipe"], family=entries["family"], summary=entries["summary"], order=int(entries["order"]),
        isa=tuple(entries.get("isa", "").split()), dtypes=tuple(entries.get("dtype", "").split()),
        fast_math=entries.get("fastmath", "yes") == "yes", knobs=tuple(knobs), source=text,
    )  # fmt: skip


def load_recipe(path: Path) -> Recipe:
    """A recipe from its file, whose folder is the family and whose name is the recipe's. Raises RecordError."""
    recipe = parse_recipe(path.read_text(), where=f"{path.parent.name}/{path.name}")
    if recipe.title != f"{path.parent.name}/{path.stem}":
        raise RecordError(f"{path.parent.name}/{path.name}: calls itself {recipe.title}")
    return recipe


@cache
def family_recipes(family: str, folder: Path = RECIPES) -> tuple[Recipe, ...]:
    """The shipped recipes of an operator family, in the order to try them. Raises RecordError."""
    recipes = [load_recipe(path) for path in sorted((folder / family).glob("*.cpp"))]
    return tuple(sorted(recipes, key=lambda recipe: (recipe.order, recipe.name)))


def _header(text: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        if not line.startswith("//") or line.strip() == "//":
            break
        lines.append(line.rstrip())
    return lines


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
