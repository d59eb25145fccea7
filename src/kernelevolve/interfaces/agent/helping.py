"""The page an agent reads: AGENTS.md, and after it every verb with its arguments, made from the verbs themselves."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from kernelevolve.errors import UnknownNameError
from kernelevolve.interfaces.agent.verbs import BY_NAME, VERBS

MAX_DEFAULT = 40


def agents_page() -> str:
    """How an agent runs a campaign, as Markdown."""
    page = files("kernelevolve.interfaces.agent").joinpath("AGENTS.md").read_text(encoding="utf-8")
    return "\n\n".join([page.rstrip(), "## Every verb", *(verb_page(verb.name, level=3) for verb in VERBS)]) + "\n"


def verb_page(name: str, *, level: int = 1) -> str:
    """A verb, its arguments and the fields of these. Raises UnknownNameError."""
    if name not in BY_NAME:
        raise UnknownNameError("verb", name, tuple(BY_NAME))
    verb = BY_NAME[name]
    schema = verb.model_json_schema()
    lines = [f"{'#' * level} `{name}`", "", " ".join((verb.__doc__ or "").split())]
    if rows := _rows(schema, schema.get("$defs", {}), 0):
        lines += ["", *rows]
    return "\n".join(lines)


def _rows(schema: dict[str, Any], known: dict[str, Any], depth: int) -> list[str]:
    rows = []
    for name, field in schema.get("properties", {}).items():
        inner = _object(field, known)
        about = field.get("description", "") or _values(field, known)
        needed = "required" if name in schema.get("required", ()) else _default(field)
        told = f"{'  ' * depth}- `{name}` ({_kind(field, known)}{', ' if needed else ''}{needed})"
        rows.append(f"{told}: {about}" if about else told)
        rows += _rows(inner, known, depth + 1) if inner else []
    return rows


def _named(field: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """What a reference stands for."""
    name = field.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = known.get(name, field)
    return found


def _options(field: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [_named(part, known) for part in field.get("anyOf", field.get("allOf", [field]))]
    return [part for part in parts if part.get("type") != "null"]


def _object(field: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The object with named fields that an argument is, or is a list of; empty for anything else."""
    for part in _options(field, known):
        each = _named(part.get("items", part), known)
        if each.get("properties"):
            return each
    return {}


def _kind(field: dict[str, Any], known: dict[str, Any]) -> str:
    kinds = []
    for part in _options(field, known):
        items = part.get("items")
        kinds.append(f"list of {_kind(items, known)}" if items else str(part.get("type", "any")))
    return " or ".join(dict.fromkeys(kinds))


def _values(field: dict[str, Any], known: dict[str, Any]) -> str:
    values = [str(value) for part in _options(field, known) for value in part.get("enum", ())]
    return f"one of {', '.join(values)}" if values else ""


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    told = "" if value in (None, "", [], {}) else str(value)
    return f"default {told}" if told and len(told) <= MAX_DEFAULT else ""
