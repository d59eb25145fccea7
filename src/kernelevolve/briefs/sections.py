"""The order of a written brief, in one place: what comes first is kept first when space runs short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelevolve.briefs import attempt_parts, task_parts
from kernelevolve.briefs.parts import Part
from kernelevolve.model.brief import Brief


@dataclass(frozen=True, kw_only=True)
class Section:
    """`ids` says what its parts are called."""

    title: str
    ids: str
    parts: Callable[[Brief], list[Part]]


SECTIONS = (
    Section(title="What is asked", ids="asked", parts=task_parts.asked_parts),
    Section(title="How to answer", ids="answer:LANGUAGE", parts=task_parts.answer_parts),
    Section(title="The task", ids="task, summary", parts=task_parts.task_parts),
    Section(title="The reference", ids="reference:FILE", parts=task_parts.reference_parts),
    Section(title="Public shapes", ids="shapes", parts=task_parts.shape_parts),
    Section(title="The machine", ids="platform", parts=task_parts.platform_parts),
    Section(title="Current kernel", ids="attempt:STEP", parts=attempt_parts.kernel_parts),
    Section(title="What the judge found", ids="verdict:STEP, diagnosis:STEP", parts=attempt_parts.verdict_parts),
    Section(title="The compiler's messages", ids="errors:STEP", parts=attempt_parts.error_parts),
    Section(title="How it came to this", ids="change:STEP", parts=attempt_parts.change_parts),
    Section(title="How the other one came to this", ids="change:STEP", parts=attempt_parts.other_change_parts),
    Section(title="What else was tried from here", ids="sibling:STEP", parts=attempt_parts.sibling_parts),
    Section(title="The best elsewhere", ids="best:STEP", parts=attempt_parts.best_parts),
    Section(title="Failures close by", ids="failure:STEP", parts=attempt_parts.failure_parts),
    Section(title="Lessons", ids="lesson:NUMBER", parts=attempt_parts.lesson_parts),
    Section(title="Remarks", ids="insight:NUMBER", parts=attempt_parts.insight_parts),
    Section(title="From the notes", ids="knowledge:FILE#SECTION", parts=attempt_parts.knowledge_parts),
)
