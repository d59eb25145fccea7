"""What there is: tasks, platforms, languages, notes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kernelevolve.briefs.knowledge import Query, make_knowledge
from kernelevolve.errors import KernelEvolveError, TaskError
from kernelevolve.interfaces.agent import shown, shown_tree
from kernelevolve.interfaces.agent.verbs import KnowledgeVerb
from kernelevolve.interfaces.wording import printable
from kernelevolve.model.task import Task
from kernelevolve.platforms import make_platform
from kernelevolve.tasks import FORMATS, builtin_names, load_task, make_source
from kernelevolve.toolchains import languages_for
from kernelevolve.toolchains.abi import prototype


def task_list(platform: str) -> list[dict[str, Any]]:
    """The built-in tasks that have shapes for this platform. Raises UnknownNameError."""
    kind = make_platform(platform).kind
    found = []
    for name in builtin_names():
        try:
            task = load_task(name, platform=kind)
        except TaskError:
            continue
        found.append({"name": task.name, "summary": task.summary, "family": task.family, "dtype": task.dtype})
    return found


MAX_LOCAL, MAX_LOOKED_AT = 200, 2000


def local_tasks(folders: Iterable[Path]) -> list[dict[str, str]]:
    """What looks like a task in these folders and one level below, by its path in there. Nothing is run."""
    found: dict[str, dict[str, str]] = {}
    for folder in folders:
        for path in _entries(folder):
            name = str(path.relative_to(folder))
            kind = next((kind for kind in FORMATS if make_source(kind).matches(path)), None)
            if kind is not None and name not in found and len(found) < MAX_LOCAL:
                found[name] = {"name": name, "format": kind, "summary": _summary(path)}
    return list(found.values())


def _entries(folder: Path) -> list[Path]:
    """A folder that is a task itself hides what is in it."""
    entries: list[Path] = []
    try:
        for path in sorted(folder.iterdir()):
            if path.name.startswith((".", "_")) or len(entries) >= MAX_LOOKED_AT:
                continue
            inside = path.is_dir() and not path.is_symlink() and not (path / "task.toml").exists()
            below = sorted(path.iterdir()) if inside else [path]
            entries += [each for each in below if (each / "task.toml").exists() or each.suffix in (".py", ".json")]
    except OSError:
        return entries
    return entries[:MAX_LOOKED_AT]


def _summary(path: Path) -> str:
    """The first line of a Python file's docstring."""
    if path.suffix != ".py":
        return ""
    try:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    except (OSError, ValueError, SyntaxError):
        return ""
    return printable(text.strip().partition("\n")[0], 200)


def platform_list(names: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for name in names:
        row: dict[str, Any] = {"name": name, "languages": languages_for(name)}
        try:
            found.append({**row, "ready": True, "facts": shown_tree.facts(make_platform(name).facts())})
        except KernelEvolveError as error:
            found.append({**row, "ready": False, "why": str(error)})
    return found


def contract(task: Task, platform: str) -> dict[str, Any]:
    """What a candidate has to be."""
    return {
        "task": shown.Shown(task).task(),
        "languages": languages_for(platform),
        "prototype": prototype(task) if platform == "cpu" else "",
    }


def found_knowledge(given: KnowledgeVerb, where: str) -> list[dict[str, Any]]:
    """From `where`, a name of the knowledge table or a folder; without one from the notes that come along."""
    query = Query(platform=given.platform, language=given.language, words=given.query)
    found = make_knowledge(where or "shipped").find(query, given.limit)
    return [{"id": each.id, "title": printable(each.title, 200), "text": printable(each.text)} for each in found]
