"""The shape paths that a native task declares. They are advice for a search, so they are no part of the Task."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.tasks import BUILTIN, builtin_names
from kernelevolve.tasks.document import PathEntry, declared_paths, parse_toml
from kernelevolve.tasks.native import NativeSource, comment_block
from kernelevolve.tasks.reading import read_text


def paths_of(reference: str, *, platform: str) -> tuple[PathEntry, ...]:
    """Of the task that `load_task` reads under this name; none for formats that have no place for them."""
    path = BUILTIN / reference if reference in builtin_names() else Path(reference)
    if path.name == "task.toml":
        path = path.parent
    if not NativeSource().matches(path):
        return ()
    faults: list[str] = []
    if path.is_dir():
        text, label, first_line = read_text(path / "task.toml", "task.toml", faults), "task.toml", 0
    else:
        label = path.name
        text, first_line = comment_block(read_text(path, label, faults) or "", label, faults)
    table = parse_toml(text, label, first_line, faults) if text is not None else None
    return declared_paths(table, platform) if table is not None else ()
