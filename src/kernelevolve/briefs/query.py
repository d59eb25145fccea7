"""What to look up for a brief."""

from __future__ import annotations

from kernelevolve.briefs.knowledge.base import Query
from kernelevolve.model.brief import Brief
from kernelevolve.model.verdict import Outcome
from kernelevolve.toolchains import languages_for


def languages_of(brief: Brief) -> tuple[str, ...]:
    """The languages this brief explains, the most important first: the wish, else the parents', else the platform's
    first (two on a GPU, where neither is the better start)."""
    if brief.move.language:
        return (brief.move.language,)
    found = tuple(dict.fromkeys(parent.candidate.language for parent in brief.parents))
    platform = languages_for(brief.task.platform)
    return found or platform[: 2 if brief.task.platform == "cuda" else 1]


def query_of(brief: Brief) -> Query:
    """Of the first parent's situation; of a draft, the task alone."""
    first = brief.parents[0] if brief.parents else None
    failed = first is not None and first.outcome is not Outcome.CORRECT
    found = first.diagnosis if first is not None else None
    words = [brief.task.name, brief.task.family, brief.task.summary]
    if first is not None and failed:
        words.append(first.outcome.value)
    if found is not None:
        words += [found.bottleneck.value, *(cause.value for cause in found.also)]
    languages = languages_of(brief)
    return Query(
        platform=brief.task.platform,
        language=languages[0] if languages else "",
        bottleneck=(found.cause.value if found.cause else found.bottleneck.value) if found else "",
        phase="draft" if first is None else "repair" if failed else "improve",
        words=" ".join(words).replace("_", " "),
    )
