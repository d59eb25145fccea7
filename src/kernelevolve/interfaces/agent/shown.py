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
from collections.abc import Mapping, Sequence
from typing import Any

from kernelevolve.interfaces.agent.reference import shown_reference
from kernelevolve.interfaces.wording import printable
from kernelevolve.model.brief import Attempt, Brief, Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis, Evidence, Unknown
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Mismatch, Outcome, Stage, Timing, Verdict
from kernelevolve.queries import status_of
from kernelevolve.search.tree import Node, Tree

MAX_MESSAGE = 2000
MAX_COMPILE_MESSAGES = 20
RATIOS = ("1", "x", "%")
"""Units of evidence that says nothing of sizes or times."""
_TIME = re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|ms|s)\b")
_LONG = re.compile(r"\d[\d_,]{2,}(?:\.\d+)?")


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
            "dtype": task.dtype, "domain": task.where,
            "axes": [axis.model_dump(mode="json") for axis in task.axes],
            "inputs": [spec.model_dump(mode="json") for spec in task.inputs],
            "outputs": [spec.model_dump(mode="json") for spec in task.outputs],
            "rule": task.rule.model_dump(mode="json"),
            "objective": task.objective.model_dump(mode="json"),
            "shapes": [dict(shape) for shape in task.shapes.shown],
            "reference": shown_reference(task),
        }  # fmt: skip

    def verdict(self, verdict: Verdict) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "outcome": verdict.outcome.value,
            "correct": verdict.correct,
            "stage": verdict.stage.value,
            "message": self._message(verdict),
            "timing": timing(verdict.timing),
        }
        if verdict.compile_messages and verdict.stage in (Stage.INSPECT, Stage.BUILD):
            shown["compile_messages"] = [
                {**each.model_dump(mode="json"), "message": printable(each.message, MAX_MESSAGE)}
                for each in verdict.compile_messages[:MAX_COMPILE_MESSAGES]
            ]
        if verdict.mismatch is not None:
            shown["mismatch"] = self._mismatch(verdict.mismatch)
        return shown

    def diagnosis(self, diagnosis: Diagnosis) -> dict[str, Any]:
        shown = self.cleaned(diagnosis).model_dump(mode="json", exclude={"evidence", "scope"})
        evidence = [
            item.model_dump(include={"name", "value", "unit", "threshold"}) for item in self._evidence(diagnosis)
        ]
        return {**shown, "evidence": evidence}

    def cleaned(self, diagnosis: Diagnosis) -> Diagnosis:
        """As a brief may quote it."""
        return diagnosis.model_copy(
            update={
                "advice": self.told(diagnosis.advice),
                "kernel": printable(diagnosis.kernel, 200),
                "evidence": tuple(self._evidence(diagnosis)),
                "unknown": tuple(Unknown(what=item.what, why=self.told(item.why)) for item in diagnosis.unknown),
            }
        )

    def brief(self, brief: Brief, tree: Tree) -> Brief:
        """The same brief with everything that tells of a run said again by the rules of this file."""
        task = brief.task
        texts = {insight.number: insight.text for insight in tree.insights}
        source = SourceFile(path=task.files[0].path, text=shown_reference(task) or "# not shown\n")
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
        return [
            Evidence(name=item.name, value=round(item.value, 4), unit=item.unit, threshold=item.threshold)
            for item in diagnosis.evidence
            if item.unit in RATIOS
        ]

    def told(self, text: str) -> str:
        """What the judge says of a run, without shapes that are not shown, times and long numbers."""
        clean = self._shape.sub(self._shape_or_not, printable(text, MAX_MESSAGE))
        return _LONG.sub("…", _TIME.sub("(a time)", clean)) if clean else clean

    def _shape_or_not(self, found: re.Match[str]) -> str:
        pairs = re.findall(r"(\w+)['\"]?\s*[=:]\s*(\d+)", found[0])
        if tuple(sorted((name, int(size)) for name, size in pairs)) in self._known:
            return "a shown shape"
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


def timing(timing: Timing | None) -> dict[str, Any] | None:
    """Against the faster baseline of each shape, geometric mean, with its interval. Not per shape: how much each one
    gains would tell them apart."""
    if timing is None:
        return None
    return {
        "level": timing.level, "speedup": round(timing.speedup, 4), "low": round(timing.low, 4),
        "high": round(timing.high, 4), "wins": timing.wins, "n_shapes": len(timing.shapes),
    }  # fmt: skip


def node_line(node: Node) -> dict[str, Any]:
    """A row of the tree."""
    found = node.verdict.timing if node.verdict else None
    return {
        "step": node.step, "operator": node.move.operator.value, "parents": list(node.move.parents),
        "language": node.candidate.language, "status": status_of(node), "same_as": node.same_as,
        "speedup": round(found.speedup, 4) if found else None, "low": round(found.low, 4) if found else None,
        "high": round(found.high, 4) if found else None,
        "intent": printable(node.candidate.origin.intent, 300),
    }  # fmt: skip


def move_shown(move: Move) -> dict[str, Any]:
    return move.model_dump(mode="json")


def source(candidate: Candidate) -> dict[str, Any]:
    """A candidate of this campaign: the agent's own work."""
    return {
        "language": candidate.language,
        "flags": list(candidate.flags),
        "files": {file.path: file.text for file in candidate.files},
    }


def claim(tree: Tree) -> dict[str, Any]:
    """The end: what the finalists measured again were worth, and the one look at the sealed shapes."""
    closed, sealed = tree.closed, tree.sealed
    return {
        "winner": closed.winner if closed else None,
        "won": bool(closed and closed.winner is not None),
        "reason": closed.reason if closed else "",
        "confirmed": [
            {"step": step, "outcome": verdict.outcome.value, "timing": timing(verdict.timing)}
            for step, verdict in sorted(tree.confirmed.items())
        ],
        "sealed": _sealed(sealed.step, sealed.verdict) if sealed else None,
    }


def _sealed(step: int, verdict: Verdict) -> dict[str, Any]:
    """No message: what went wrong there could tell the shapes."""
    correct = verdict.outcome is Outcome.CORRECT
    return {"step": step, "correct": correct, "outcome": verdict.outcome.value, "timing": timing(verdict.timing)}


def facts(facts: PlatformFacts) -> dict[str, Any]:
    return facts.model_dump(mode="json")


def rows(nodes: Sequence[Node]) -> list[dict[str, Any]]:
    return [node_line(node) for node in nodes]
