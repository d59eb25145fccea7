"""The parts about earlier attempts: current kernels, verdicts, what each change did, advice, knowledge."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from kernelevolve.briefs.fences import fence, inline
from kernelevolve.briefs.parts import Part, busy_text, effect
from kernelevolve.briefs.tokens import count
from kernelevolve.model.brief import Attempt, Brief, Remembered, Role
from kernelevolve.model.diagnosis import Diagnosis, Evidence
from kernelevolve.model.verdict import CompileMessage

N_MESSAGES, MESSAGE_CHARACTERS = 20, 600
MIN_LINES = 8
"""A kernel of which less can be shown is left out."""
UNITS = {"1": "(ratio)", "x": "times"}
SUFFIXES = {"cpp": "cpp", "cc": "cpp", "h": "cpp", "cu": "cuda", "cuh": "cuda", "py": "python", "toml": "toml"}


def kernel_parts(brief: Brief) -> list[Part]:
    return [
        Part(id=f"attempt:{parent.step}", text=_kernel(parent), shorten=_Shortened(parent)) for parent in brief.parents
    ]


def _kernel(attempt: Attempt, n_lines: int | None = None) -> str:
    """In full, or of all files together the first `n_lines`."""
    candidate = attempt.candidate
    head = f"Step {attempt.step}, in {inline(candidate.language)}"
    head += f", flags {inline(' '.join(candidate.flags), 1000)}" if candidate.flags else ""
    parts = [f"{head}. {inline(candidate.origin.intent)}" if candidate.origin.intent else f"{head}."]
    left = n_lines
    for file in candidate.files:
        lines = file.text.split("\n")
        shown = lines if left is None else lines[:left]
        left = None if left is None else left - len(shown)
        parts.append(inline(file.path))
        if shown:
            parts.append(fence("\n".join(shown), SUFFIXES.get(file.path.rpartition(".")[2], "")))
        if len(shown) < len(lines):
            parts.append(f"CUT HERE: the last {len(lines) - len(shown)} of {len(lines)} lines are not shown.")
    return "\n\n".join(parts)


class _Shortened:
    """The first lines of a kernel, as many as fit."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def __call__(self, n_tokens: int) -> str | None:
        lines = [line for file in self._attempt.candidate.files for line in file.text.split("\n")]
        fixed = count(_kernel(self._attempt, 0))
        sums = accumulate(count(line) + 1 for line in lines)
        n_lines = sum(1 for total in sums if total + fixed + 20 <= n_tokens)
        while n_lines >= MIN_LINES:
            text = _kernel(self._attempt, n_lines)
            if count(text) <= n_tokens:
                return text
            n_lines -= max(1, n_lines // 10)
        return None


def verdict_parts(brief: Brief) -> list[Part]:
    parts = []
    for parent in brief.parents:
        text = f"Step {parent.step}: {effect(parent)}."
        if parent.speedup is not None:
            where = (
                "at the task's one size" if brief.task.fixed_size else "geometric mean over shapes that are not told"
            )
            text += f" Times as fast as the better baseline, {where}, with the 95 % interval."
        if parent.disturbed:
            text += f" Note: {busy_text(parent.disturbed)}."
        if parent.message:
            text += f"\n\n{fence(parent.message, 'text')}"
        parts.append(Part(id=f"verdict:{parent.step}", text=text))
        if parent.diagnosis is not None:
            parts.append(Part(id=f"diagnosis:{parent.step}", text=_diagnosis(parent.step, parent.diagnosis)))
    return parts


def _diagnosis(step: int, found: Diagnosis) -> str:
    depth = {"verdict": "times and bytes", "static": "machine code", "counters": "the device's counters"}[found.scope]
    head = f"What bounds step {step}: {found.bottleneck.value}"
    head += f", {found.cause.value}" if found.cause else ""
    head += f"; also {', '.join(cause.value for cause in found.also)}" if found.also else ""
    head += f"; seen from {depth}"
    lines = [head + (f", kernel {inline(found.kernel)}." if found.kernel else ".")]
    lines += [_evidence(item) for item in found.evidence]
    lines += [f"- not known: {inline(item.what)}, because {inline(item.why)}" for item in found.unknown]
    lines += [f"- advice: {inline(found.advice, 800)}"] if found.advice else []
    return "\n".join(lines)


def _evidence(item: Evidence) -> str:
    line = f"- {inline(item.name)}: {item.value:g} {inline(UNITS.get(item.unit, item.unit))}"
    line += f", held against {item.threshold:g}" if item.threshold is not None else ""
    line += f", from {inline(item.source)}" if item.source else ""
    return line + (f"; {inline(item.note)}" if item.note else "")


def error_parts(brief: Brief) -> list[Part]:
    failed = [parent for parent in brief.parents if parent.compile_messages]
    return [Part(id=f"errors:{p.step}", text=f"Step {p.step}:\n\n{_messages(p.compile_messages)}") for p in failed]


def _messages(messages: tuple[CompileMessage, ...]) -> str:
    order = {"error": 0, "warning": 1, "note": 2}
    kept = sorted(messages, key=lambda item: order[item.severity])[:N_MESSAGES]
    lines = [f"{m.file}:{m.line}:{m.column}: {m.severity}: {m.message[:MESSAGE_CHARACTERS]}" for m in kept]
    if len(messages) > len(kept):
        lines.append(f"and {len(messages) - len(kept)} more")
    return fence("\n".join(lines), "text")


def change_parts(brief: Brief) -> list[Part]:
    return _remembered(brief, "change", (Role.LINEAGE, Role.PARENT), with_diff=True)


def other_change_parts(brief: Brief) -> list[Part]:
    return _remembered(brief, "change", (Role.OTHER_LINEAGE,), with_diff=True)


def best_parts(brief: Brief) -> list[Part]:
    return _remembered(brief, "best", (Role.BEST,), with_diff=False)


def sibling_parts(brief: Brief) -> list[Part]:
    return _remembered(brief, "sibling", (Role.SIBLING,), with_diff=False)


def failure_parts(brief: Brief) -> list[Part]:
    return _remembered(brief, "failure", (Role.FAILURE,), with_diff=False)


def _remembered(brief: Brief, kind: str, roles: Iterable[Role], *, with_diff: bool) -> list[Part]:
    """One part an attempt, in the order of the brief."""
    chosen = [item for item in brief.remembered if item.role in tuple(roles)]
    return [Part(id=f"{kind}:{item.attempt.step}", text=_line(item, with_diff=with_diff)) for item in chosen]


def _line(item: Remembered, *, with_diff: bool) -> str:
    attempt = item.attempt
    start = f"from step {item.parent}" if item.parent is not None else "a new start"
    start += f", {item.why}" if item.why else ""
    text = f"- step {attempt.step}, {start}: {inline(item.change or 'not said')} -> {effect(attempt)}"
    if attempt.diagnosis is not None:
        text += f"; bound by {(attempt.diagnosis.cause or attempt.diagnosis.bottleneck).value}"
    if attempt.message:
        text += f"; {inline(attempt.message)}"
    return f"{text}\n\n{fence(item.diff, 'diff')}" if with_diff and item.diff else text


def insight_parts(brief: Brief) -> list[Part]:
    """The newest first: the last to be dropped."""
    parts = []
    for note in reversed(brief.notes):
        about = f" about step {', '.join(map(str, note.steps))}" if note.steps else ""
        by = f" by {inline(note.author, 60)}" if note.author else ""
        parts.append(Part(id=f"insight:{note.number}", text=f"A remark{by}{about}:\n\n{fence(note.text, 'text')}"))
    return parts


def lesson_parts(brief: Brief) -> list[Part]:
    parts = []
    for number, lesson in enumerate(brief.lessons, 1):
        text = f"- where {inline(lesson.situation, 600)}: {inline(lesson.action, 600)}"
        text += f"; not for {inline(', '.join(lesson.not_for), 600)}" if lesson.not_for else ""
        parts.append(Part(id=f"lesson:{number}", text=text))
    return parts


def knowledge_parts(brief: Brief) -> list[Part]:
    return [
        Part(id=f"knowledge:{item.id}", text=f"{inline(item.title)}\n\n{fence(item.text, 'markdown')}")
        for item in brief.knowledge
    ]
