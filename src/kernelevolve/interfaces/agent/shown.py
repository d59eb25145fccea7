"""The one place that turns values into what an agent may see.

Left out on purpose: shapes that are not shown, every time and raw sample (a speed-up with its interval is enough),
what a candidate printed (it is told the hidden sizes when it is called, so it could print them), the oracle, and how
inputs are drawn. Two kinds of text are treated differently. What
was written before anything ran (a refusal, a compiler's message, an insight) cannot know a hidden size and is passed on
as it is: replacing hidden sizes in it would tell an agent which of the numbers in its own source are hidden. What was
written about a run has every number of three digits and more taken out, whichever it is, and every shape that is not a
shown one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kernelevolve.briefs.parts import busy_text
from kernelevolve.briefs.task_parts import KERNELBENCH_NOTE
from kernelevolve.diagnosis.explain import about
from kernelevolve.diagnosis.roofline import ONE_SIZE
from kernelevolve.interfaces.agent.reference import reference_file, shown_reference
from kernelevolve.interfaces.agent.shown_tree import timing
from kernelevolve.interfaces.wording import domain_text, printable
from kernelevolve.model.brief import Attempt, Brief
from kernelevolve.model.diagnosis import Diagnosis, Evidence, Unknown
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Mismatch, Stage, Verdict
from kernelevolve.search.tree import Tree

MAX_MESSAGE = 2000
MAX_COMPILE_MESSAGES = 20
RATIOS = {"1": "ratio", "x": "times", "%": "%", "threads": "threads"}
"""Units of evidence that says nothing of sizes or times, and how they are called."""
_TIME = re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|ms|s)\b")
_LONG = re.compile(r"\d[\d_,]{2,}(?:\.\d+)?")
_RATIO = re.compile(r"(?:\bover )?(?<![\w.,])(\d+(?:\.\d+)?)x(?!\w)")
NUMBER = "(number)"
SHOWN = "a shown shape"


class Shown:
    """For one task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        names = "|".join(re.escape(axis.name) for axis in task.axes) or "(?!)"
        pair = rf"\b(?:{names})['\"]?\s*[=:]\s*\d+"
        self._shape = re.compile(rf"{pair}(?:[\s,]+['\"]?{pair})*")
        self._known = {tuple(sorted(shape.items())) for shape in task.shapes.shown}

    def task(self) -> dict[str, Any]:
        task = self._task
        return {
            "name": task.name, "summary": task.summary, "entry": task.entry, "platform": task.platform,
            "dtype": task.dtype, "domain": self._domain(),
            "axes": [axis.model_dump(mode="json") for axis in task.axes],
            "inputs": [spec.model_dump(mode="json") for spec in task.inputs],
            "outputs": [spec.model_dump(mode="json") for spec in task.outputs],
            "rule": task.rule.model_dump(mode="json"),
            "objective": task.objective.model_dump(mode="json"),
            "shapes": [dict(shape) for shape in task.shapes.shown],
            "reference": shown_reference(task),
            **({"reference_note": KERNELBENCH_NOTE} if task.format == "kernelbench" else {}),
        }  # fmt: skip

    def _domain(self) -> str:
        if self._task.fixed_size:
            return "fixed: one size, that of the inputs and shapes"
        return self._task.where or domain_text(self._task)

    def verdict(self, verdict: Verdict) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "outcome": verdict.outcome.value,
            "correct": verdict.correct,
            "stage": verdict.stage.value,
            "message": self._message(verdict),
            "timing": timing(verdict.timing),
        }
        if verdict.disturbed:
            shown["warning"] = busy_text(verdict.disturbed)
        if verdict.compile_messages and verdict.stage in (Stage.INSPECT, Stage.BUILD):
            shown["compile_messages"] = [
                {**each.model_dump(mode="json"), "message": printable(each.message, MAX_MESSAGE)}
                for each in verdict.compile_messages[:MAX_COMPILE_MESSAGES]
            ]
        if verdict.mismatch is not None:
            shown["mismatch"] = self._mismatch(verdict.mismatch)
        return shown

    def diagnosis(self, diagnosis: Diagnosis) -> dict[str, Any]:
        """Without empty fields."""
        clean = self.cleaned(diagnosis).model_dump(mode="json", exclude={"scope"}, exclude_none=True)
        clean["evidence"] = [
            {"name": item.name, "value": item.value, "unit": RATIOS[item.unit]}
            | ({"threshold": item.threshold} if item.threshold is not None else {})
            | ({"at": item.note} if item.note else {})
            for item in self._evidence(diagnosis)
        ]
        return {name: value for name, value in clean.items() if value not in ("", [])}

    def cleaned(self, diagnosis: Diagnosis) -> Diagnosis:
        """As a brief may quote it."""
        return diagnosis.model_copy(
            update={
                "advice": self.figures(diagnosis.advice),
                "kernel": printable(diagnosis.kernel, 200),
                "evidence": tuple(self._evidence(diagnosis)),
                "unknown": tuple(Unknown(what=item.what, why=self.figures(item.why)) for item in diagnosis.unknown),
            }
        )

    def brief(self, brief: Brief, tree: Tree) -> Brief:
        """The same brief with everything that tells of a run said again by the rules of this file."""
        task = brief.task
        texts = {insight.number: insight.text for insight in tree.insights}
        source = SourceFile(path=reference_file(task).path, text=shown_reference(task) or "# not shown\n")
        return brief.model_copy(
            update={
                "task": task.model_copy(update={"files": (source,)}),
                "parents": tuple(self._attempt(each, tree) for each in brief.parents),
                "notes": tuple(each.model_copy(update={"text": texts.get(each.number, "")}) for each in brief.notes),
                "history": tuple(self._attempt(each, tree) for each in brief.history),
                "remembered": tuple(
                    each.model_copy(update={"attempt": self._attempt(each.attempt, tree)}) for each in brief.remembered
                ),
            }
        )

    def _attempt(self, attempt: Attempt, tree: Tree) -> Attempt:
        node = tree.node(attempt.step)
        assert node.verdict is not None
        before = node.verdict.stage in (Stage.INSPECT, Stage.BUILD)
        return attempt.model_copy(
            update={
                "message": self._message(node.verdict),
                "compile_messages": node.verdict.compile_messages if before else (),
                "diagnosis": self.cleaned(node.diagnosis) if node.diagnosis else None,
            }
        )

    def _evidence(self, diagnosis: Diagnosis) -> list[Evidence]:
        """Each with the shape it is of: a hidden one by a number that counts within this diagnosis."""
        hidden: dict[str, str] = {}
        return [
            Evidence(
                name=item.name, value=float(f"{item.value:.4g}"), unit=item.unit, threshold=item.threshold,
                note=self._at(item.note, hidden),
            )
            for item in diagnosis.evidence
            if item.unit in RATIOS
        ]  # fmt: skip

    def _at(self, note: str, hidden: dict[str, str]) -> str:
        if note.startswith(ONE_SIZE):
            return ONE_SIZE
        found = self._shape.match(note)
        if found is None:
            return ""
        if self._shape_or_not(found) == SHOWN:
            return f"shown shape {found[0].replace(',', '')}"
        return hidden.setdefault(found[0], f"hidden shape {len(hidden) + 1}")

    def figures(self, text: str) -> str:
        """What our own code says of a run: as `told`, but for ratios, which are rounded and kept."""
        parts, done = [], 0
        for ratio in _RATIO.finditer(text):
            parts += [self.told(text[done : ratio.start()]), about(float(ratio[1]))]
            done = ratio.end()
        return "".join((*parts, self.told(text[done:])))

    def told(self, text: str) -> str:
        """What the judge says of a run, without shapes that are not shown, times and long numbers."""
        clean = self._shape.sub(self._shape_or_not, printable(text, MAX_MESSAGE))
        return _LONG.sub(NUMBER, _TIME.sub("(a time)", clean)) if clean else clean

    def _shape_or_not(self, found: re.Match[str]) -> str:
        pairs = re.findall(r"(\w+)['\"]?\s*[=:]\s*(\d+)", found[0])
        if tuple(sorted((name, int(size)) for name, size in pairs)) in self._known:
            return SHOWN
        return "a shape that is not shown"

    def _message(self, verdict: Verdict) -> str:
        if verdict.stage in (Stage.INSPECT, Stage.BUILD):
            return printable(verdict.message, MAX_MESSAGE)
        if verdict.mismatch is not None and not self._is_shown(verdict.mismatch.shape):
            return f"{verdict.mismatch.tensor} is wrong at a shape that is not shown"
        return self.told(verdict.message)

    def _mismatch(self, mismatch: Mismatch) -> dict[str, Any]:
        """With values only at a shown shape: a candidate may write what it likes into its output."""
        if self._is_shown(mismatch.shape):
            return mismatch.model_dump(mode="json")
        share = mismatch.n_wrong / mismatch.n_total if mismatch.n_total else 1.0
        return {"tensor": mismatch.tensor, "shape": "not shown", "share_wrong": float(f"{share:.1g}")}

    def _is_shown(self, shape: Mapping[str, int]) -> bool:
        return tuple(sorted(shape.items())) in self._known
