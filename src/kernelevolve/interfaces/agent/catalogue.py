"""What there is: tasks, platforms, languages, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelevolve.briefs.knowledge import Query, make_knowledge
from kernelevolve.errors import KernelEvolveError, TaskError
from kernelevolve.interfaces.agent import shown
from kernelevolve.interfaces.agent.proposal import languages
from kernelevolve.interfaces.agent.verbs import KnowledgeVerb
from kernelevolve.interfaces.wording import printable
from kernelevolve.model.task import Task
from kernelevolve.platforms import make_platform
from kernelevolve.tasks import builtin_names, load_task
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


def platform_list(names: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for name in names:
        row: dict[str, Any] = {"name": name, "languages": languages(name)}
        try:
            found.append({**row, "ready": True, "facts": shown.facts(make_platform(name).facts())})
        except KernelEvolveError as error:
            found.append({**row, "ready": False, "why": str(error)})
    return found


def contract(task: Task, platform: str) -> dict[str, Any]:
    """What a candidate has to be."""
    return {
        "task": shown.Shown(task).task(),
        "languages": languages(platform),
        "prototype": prototype(task) if platform == "cpu" else "",
    }


def found_knowledge(given: KnowledgeVerb, where: str) -> list[dict[str, Any]]:
    """From `where`, a name of the knowledge table or a folder; without one from the notes that come along."""
    query = Query(platform=given.platform, language=given.language, words=given.query)
    found = make_knowledge(where or "shipped").find(query, given.limit)
    return [{"id": each.id, "title": printable(each.title, 200), "text": printable(each.text)} for each in found]
