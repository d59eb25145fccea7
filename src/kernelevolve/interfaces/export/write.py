"""Writes the export: kernel, header, wrapper, reference, test, evidence and a page on how to use them."""

from __future__ import annotations

import json
import pprint
from pathlib import Path
from typing import Any

from kernelevolve import __version__
from kernelevolve.errors import UsageError
from kernelevolve.interfaces.claim import baseline_means
from kernelevolve.interfaces.export.spec import free_axes, wrapper_spec
from kernelevolve.interfaces.record import Record, Row
from kernelevolve.interfaces.wording import (
    baseline_title,
    domain_text,
    facts_rows,
    interval,
    one_line,
    rule_text,
    shape_text,
    times,
)
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import Task
from kernelevolve.toolchains import abi


def export_kernel(record: Record, folder: Path, *, step: int | None = None) -> list[Path]:
    """Write the winner (or `step`) into `folder`. Returns the files written.

    Raises UsageError when there is no winner, the step is not correct, or the folder holds something else.
    """
    row = _chosen(record, step)
    task = record.opened.task
    if row.candidate.language != "cpp":
        raise UsageError(f"step {row.step} is language '{row.candidate.language}'; only cpp kernels can be exported")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir()) and not (folder / "evidence.json").exists()):
        raise UsageError(f"{folder} exists and is not an earlier export; choose a new folder")
    texts = _kernel_files(task, row.candidate) | _reference_files(task)
    sources = [path for path in texts if path.endswith((".cpp", ".cc"))]
    reference = next(path for path in texts if path.endswith(".py"))
    texts |= _rendered(record, row, wrapper_spec(task, row.candidate, sources=sources, reference=reference))
    texts["evidence.json"] = json.dumps(evidence(record, row), indent=1, ensure_ascii=False) + "\n"
    written = []
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
        written.append(path)
    return written


def evidence(record: Record, row: Row) -> dict[str, Any]:
    """Everything the claim rests on, raw samples included."""
    verdicts = {"search": row.verdict, "confirm": row.confirmed, "sealed": row.sealed}
    return {
        "schema": "kernelevolve.evidence/1",
        "kernelevolve": __version__,
        "campaign": record.campaign_id,
        "step": row.step,
        "task_id": record.opened.task.content_id,
        "candidate_id": row.candidate.id,
        "origin": row.candidate.origin.model_dump(mode="json"),
        "flags": list(row.candidate.flags),
        "verdicts": {level: verdict.model_dump(mode="json") for level, verdict in verdicts.items() if verdict},
        "machine": record.opened.facts.model_dump(mode="json"),
        "settings": record.opened.settings.model_dump(mode="json"),
        "task": record.opened.task.model_dump(mode="json"),
    }


def _chosen(record: Record, step: int | None) -> Row:
    if step is not None:
        row = record.row(step)
        if row.verdict is None or not row.verdict.correct:
            raise UsageError(f"step {step} is not correct ({row.status}); only correct kernels can be exported")
        return row
    if record.closed is None:
        raise UsageError("the search is not finished, so there is no winner; resume it, or choose a kernel with --step")
    if record.winner is None:
        raise UsageError("no improvement was found, the reference stays; there is nothing to export")
    return record.winner


def _kernel_files(task: Task, candidate: Candidate) -> dict[str, str]:
    """A single file becomes kernel.cpp; several keep their paths inside kernel/."""
    if len(candidate.files) == 1:
        texts = {"kernel.cpp": candidate.files[0].text}
    else:
        texts = {f"kernel/{file.path}": file.text for file in candidate.files}
    return texts | {"ke_abi.h": abi.header(task), "ke_shim.cpp": abi.shim(task)}


def _reference_files(task: Task) -> dict[str, str]:
    if len(task.files) == 1:
        return {"reference.py": task.files[0].text}
    return {f"reference/{file.path}": file.text for file in task.files}


def _rendered(record: Record, row: Row, spec: dict[str, Any]) -> dict[str, str]:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kernelevolve.interfaces.export", "."), autoescape=False,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "plain": one_line,
        "python": lambda value: pprint.pformat(value, width=110, sort_dicts=False),
    }
    task = record.opened.task
    free = free_axes(task)
    values = {
        "spec": spec, "task": task, "free": free, "row": row, "record": record, "version": __version__,
        "tests": {"rule": task.rule.model_dump(mode="json"), "shapes": _test_shapes(task), "free": list(free)},
        "claim": _claim_lines(record, row), "rule": rule_text(task.rule), "domain": domain_text(task),
        "facts": facts_rows(record.opened.facts), "data_dependent": any(axis.role == "output" for axis in task.axes),
    }  # fmt: skip
    names = {f"{task.entry}.py": "wrapper.py.j2", f"test_{task.entry}.py": "test.py.j2", "README.md": "readme.md.j2"}
    return {name: environment.get_template(template).render(values) for name, template in names.items()}


def _claim_lines(record: Record, row: Row) -> list[str]:
    """Markdown table rows: level, shape, baseline, speed-up, interval."""
    lines: list[str] = []
    for level, verdict in (("sealed", row.sealed), ("confirm", row.confirmed), ("search", row.verdict)):
        if verdict is None or verdict.timing is None or (level == "search" and lines):
            continue
        for shape in verdict.timing.shapes:
            lines += [
                f"| {level} | {shape_text(shape.shape)} | {baseline_title(found.baseline)} | {times(found.speedup)} | "
                f"{interval(found.low, found.high)} |"
                for found in shape.comparisons
            ]
        means = ", ".join(
            f"{times(mean)} against {baseline_title(name)}" for name, mean in baseline_means(verdict.timing)
        )
        lines.append(f"| {level} | geometric mean over shapes | {means} | | |")
    return [one_line(line) for line in lines]


def _test_shapes(task: Task) -> list[dict[str, int]]:
    """Small shapes inside the domain, odd ones included, then the shapes the task shows."""
    axes = [axis for axis in task.axes if axis.role == "shape"]
    small: list[dict[str, int]] = []
    for wanted in ((5, 7, 3, 11, 9, 13, 17), (16, 8, 32, 4, 24, 12, 20), (1,) * 7):
        shape = {}
        for index, axis in enumerate(axes):
            size = -(-max(axis.low, wanted[index % 7]) // axis.multiple_of) * axis.multiple_of
            shape[axis.name] = size if axis.admits(size) else task.shapes.shown[0][axis.name]
        small.append(shape)
    found = [*small, *task.shapes.shown]
    return [shape for index, shape in enumerate(found) if shape not in found[:index]]
