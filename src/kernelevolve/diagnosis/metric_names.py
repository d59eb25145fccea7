"""The counters a profile asks for: named sets in `metrics/*.txt`, and what each chip calls them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kernelevolve.errors import UnknownNameError

_FOLDER = Path(__file__).with_name("metrics")
_CHIPS = "chips.toml"
CORE, PIPES, STALLS, ALL_STALLS, ACCESS, ROLLUPS, LAUNCH = (
    "core", "pipes", "stalls", "all_stalls", "access", "rollups", "launch",
)  # fmt: skip


@cache
def set_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))


@cache
def metric_set(name: str) -> tuple[str, ...]:
    """Raises UnknownNameError."""
    if name not in set_names():
        raise UnknownNameError("set of counters", name, set_names())
    lines = (_FOLDER / f"{name}.txt").read_text().splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def metrics(sets: Sequence[str]) -> tuple[str, ...]:
    """Every name of these sets once, in their order."""
    return tuple(dict.fromkeys(name for item in sets for name in metric_set(item)))


@cache
def chips() -> dict[str, str]:
    """Chip by instruction set: {"sm_90": "GH100", ..}."""
    return dict(tomllib.loads((_FOLDER / _CHIPS).read_text())["isa"])


def names_on(isa: str, names: Sequence[str]) -> dict[str, str]:
    """What a chip calls these: our name -> its name; without those that it has not. A chip that is in no table gets all
    of them: the profiler will say which it does not know."""
    table = tomllib.loads((_FOLDER / _CHIPS).read_text())["alias"].get(chips().get(isa, ""), {})
    found = {name: str(table.get(name, name)) for name in names}
    return {name: theirs for name, theirs in found.items() if theirs}
