"""The TOML of a native task, section by section, so that every fault of every section is reported at once."""

from __future__ import annotations

import json
import re
import tomllib
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from kernelevolve.errors import UsageError
from kernelevolve.model.paths import Where
from kernelevolve.model.task import Axis, DType, Objective, Rollout, Rule, Shape, ShapeSets, TensorSpec
from kernelevolve.model.value import Value

TOP_KEYS = (
    "schema_version", "name", "summary", "family", "entry", "axes", "inputs", "outputs", "rule", "rollout", "traffic",
    "objective", "platforms",
)  # fmt: skip
Table = dict[str, Any]
ValueT = TypeVar("ValueT", bound=Value)


class PathEntry(Value):
    """One `[[platforms.KIND.paths]]` table: a part of the domain worth a search of its own."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    where: str
    weight: float = Field(default=1.0, gt=0, description="its share of the search time, relative to the other paths")


class PlatformEntry(Value):
    """One `[platforms.KIND]` table."""

    dtype: DType = "float32"
    shapes: ShapeSets
    objective: Objective | None = None
    rule: Rule | None = None
    traffic: str | None = None
    paths: tuple[PathEntry, ...] = ()


def parse_toml(text: str, label: str, first_line: int, faults: list[str]) -> Table | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        message = re.sub(r"at line (\d+)", lambda found: f"at line {int(found[1]) + first_line}", str(error))
        faults.append(f"{label}: TOML error: {message}")
        return None


def input_names(table: Table | None) -> list[str] | None:
    """The declared input names as far as the TOML has them; None when it does not say."""
    entries = (table or {}).get("inputs")
    if not isinstance(entries, list) or not all(
        isinstance(e, dict) and isinstance(e.get("name"), str) for e in entries
    ):
        return None
    return [entry["name"] for entry in entries]


def shape_axis_names(table: Table | None) -> list[str]:
    """The axes whose sizes the shape sets give."""
    axes = (table or {}).get("axes")
    if not isinstance(axes, dict):
        return []
    return [name for name, axis in axes.items() if isinstance(axis, dict) and axis.get("role", "shape") == "shape"]


def declared_paths(table: Table, platform: str) -> tuple[PathEntry, ...]:
    """Of a table in which `task_fields` found no fault."""
    entry = _platform_entry(table.get("platforms"), platform, [])
    return entry.paths if entry else ()


def task_fields(table: Table, platform: str, faults: list[str]) -> Table | None:
    """The Task's fields, files aside; None when a fault was found."""
    before = len(faults)
    faults += [_unknown(key, TOP_KEYS) for key in table if key not in TOP_KEYS]
    faults += [
        f"{key}: must be text" for key in ("name", "summary", "family", "entry", "traffic") if not _text(table, key)
    ]
    faults += [f"{key}: is missing" for key in ("schema_version", "name", "inputs", "rule") if key not in table]
    if table.get("schema_version", 1) != 1:
        faults.append(f"schema_version: {table['schema_version']} is not known; this version reads 1")
    entry = _platform_entry(table.get("platforms"), platform, faults)
    dtype = entry.dtype if entry else "float32"
    axes = _table(table, "axes", faults)
    if entry is not None:
        faults += _path_faults(entry, shape_axis_names(table), f"platforms.{platform}.paths")
    sections: dict[str, list[Any]] = {
        "axes": [_named(Axis, f"axes.{name}", name, data, faults) for name, data in axes.items()],
        "inputs": _specs(table, "inputs", dtype, faults),
        "outputs": _specs(table, "outputs", dtype, faults),
    }
    optional: dict[str, Value | str | None] = {
        key: _value(cls, key, table[key], faults)
        for key, cls in (("rule", Rule), ("rollout", Rollout), ("objective", Objective))
        if key in table
    }
    if len(faults) > before or entry is None:
        return None
    if entry.objective is not None:
        optional["objective"] = entry.objective
    elif platform == "cuda":  # in use a launch is hidden behind work or part of a graph, and inputs come from memory
        optional.setdefault("objective", Objective(clock="device", cache="cold"))
    if entry.rule is not None:
        optional["rule"] = entry.rule
    if entry.traffic is not None:
        optional["traffic"] = entry.traffic
    name = table["name"]
    return {
        "schema_version": 1, "name": name, "summary": table.get("summary", ""), "family": table.get("family", name),
        "entry": table.get("entry", name), "traffic": table.get("traffic", ""),
        "platform": platform, "dtype": dtype, "shapes": entry.shapes,
        **{key: tuple(items) for key, items in sections.items()}, **optional,
    }  # fmt: skip


def _text(table: Table, key: str) -> bool:
    return isinstance(table.get(key, ""), str)


def _table(table: Table, key: str, faults: list[str]) -> Table:
    data = table.get(key, {})
    if isinstance(data, dict):
        return data
    faults.append(f"{key}: must be a table, [{key}]")
    return {}


def _platform_entry(platforms: Any, platform: str, faults: list[str]) -> PlatformEntry | None:
    if not isinstance(platforms, dict) or not platforms:
        faults.append(f"platforms: is missing; add [platforms.{platform}] with dtype and shapes")
        return None
    entries = {kind: _value(PlatformEntry, f"platforms.{kind}", data, faults) for kind, data in platforms.items()}
    if platform not in entries:
        faults.append(f"platforms: there is no [platforms.{platform}] table; the task has {', '.join(sorted(entries))}")
        return None
    return entries[platform]


def _path_faults(entry: PlatformEntry, axes: list[str], where: str) -> list[str]:
    names = [path.name for path in entry.paths]
    faults = [f"{where}: there are two paths '{name}'" for name in sorted({n for n in names if names.count(n) > 1})]
    for path in entry.paths:
        try:
            part = Where.parse(path.where)
        except UsageError as error:
            faults.append(f"{where}.{path.name}: {error}")
            continue
        unknown = [bound.axis for bound in part.bounds if bound.axis not in axes]
        if not unknown and not any(_holds(part, shape) for shape in entry.shapes.shown):
            faults.append(f"{where}.{path.name}: no shape of shapes.shown lies in it, and a search needs one")
        faults += [f"{where}.{path.name}: '{axis}' is not a shape axis ({', '.join(axes)})" for axis in unknown]
    return faults


def _holds(part: Where, shape: Shape) -> bool:
    """A shape that lacks an axis is a fault of its own."""
    return all(bound.axis in shape for bound in part.bounds) and part.admits(shape)


def _specs(table: Table, key: str, dtype: str, faults: list[str]) -> list[TensorSpec | None]:
    entries = table.get(key, [])
    if not isinstance(entries, list):
        faults.append(f"{key}: must be a list of tables, [[{key}]]")
        return []
    specs = []
    for index, data in enumerate(entries):
        if isinstance(data, dict) and isinstance(data.get("name"), str):
            where = f"{key}.{data['name']}"
        else:
            where = f"{key}[{index}]"
        if isinstance(data, dict) and data.get("dtype") == "float":
            data = {**data, "dtype": dtype}
        specs.append(_value(TensorSpec, where, data, faults))
    return specs


def _named(cls: type[ValueT], where: str, name: str, data: object, faults: list[str]) -> ValueT | None:
    if isinstance(data, dict) and "name" in data:
        faults.append(f"{where}: takes no key 'name'")
        return None
    return _value(cls, where, {**data, "name": name} if isinstance(data, dict) else data, faults)


def _value(cls: type[ValueT], where: str, data: object, faults: list[str]) -> ValueT | None:
    """A part of the document as a value, or None with its faults added."""
    if not isinstance(data, dict):
        faults.append(f"{where}: must be a table")
        return None
    try:
        # Through JSON: strict, so that "3" is not a number, while TOML arrays still become tuples.
        return cls.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            loc = item["loc"]
            at = ".".join([where, *(str(part) for part in loc[:-1])])
            if item["type"] == "extra_forbidden":
                tables: dict[str, type[Value]] = {"shapes": ShapeSets, "paths": PathEntry}
                inner = tables.get(str(loc[0])) if len(loc) > 1 else None
                known = (inner or cls).model_fields
                faults.append(f"{at}: {_unknown(str(loc[-1]), tuple(known))}")
            elif item["type"] == "missing":
                faults.append(f"{at}: the key '{loc[-1]}' is missing")
            else:
                at = ".".join([where, *(str(part) for part in loc)])
                faults.append(f"{at}: {item['msg'].removeprefix('Value error, ')}")
        return None


def _unknown(key: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(key, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}"
    return f"unknown key '{key}'; {hint}"
