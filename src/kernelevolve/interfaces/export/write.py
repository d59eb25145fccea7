"""Writes the export: kernels, dispatcher, reference, test, evidence and a page on how to use them."""

from __future__ import annotations

import json
import pprint
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelevolve import __version__
from kernelevolve.errors import UsageError
from kernelevolve.interfaces.claim import baseline_means
from kernelevolve.interfaces.export.kernels import Files, kernel_files
from kernelevolve.interfaces.export.package import Winner, serving, winners
from kernelevolve.interfaces.export.spec import free_axes, package_spec, reference_call, static_fit
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
from kernelevolve.model.paths import operator_id
from kernelevolve.model.task import Shape, Task
from kernelevolve.toolchains.cache import default_cache

BASELINES = "baselines.py"
RUNTIME = Path(__file__).with_name("runtime")
"""Plain modules that import nothing of kernelevolve; every package takes a copy along."""
CONTENTS = {
    "cpp": "kernel, prototype (ke_abi.h), plain-array entry (ke_shim.cpp)", "python": "kernel",
    "cubin": "plan.json, machine code and source",
}  # fmt: skip
"""What of a kernel lies in a package."""


def export_kernel(record: Record, folder: Path, *, step: int | None = None) -> list[Path]:
    """Write the winner (or `step`) of one campaign into `folder`. See `export_package`."""
    return export_package([record], folder, step=step)


def export_package(
    records: Sequence[Record], folder: Path, *, step: int | None = None, only_measured: bool = False,
    fallback: str = "", cache: Path | None = None,
) -> list[Path]:  # fmt: skip
    """Write the winners of campaigns of one operator as one package. Returns the files written.

    `only_measured`: kernels serve exactly the shapes they were measured on. `fallback`: serves the rest instead of
    the reference; `module:function`, or one of the task's own baselines by name. Raises UsageError when there is no
    winner, the campaigns do not belong together, or the folder holds something else.
    """
    found = winners(records, step=step, only_measured=only_measured, fallback=fallback)
    _check_fallback(fallback, found[0].task)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir()) and not (folder / "evidence.json").exists()):
        raise UsageError(f"{folder} exists and is not an earlier export; choose a new folder")
    files = _package_files(found, fallback=fallback, cache=cache or default_cache())
    written = []
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", errors="replace"))
        written.append(path)
    return written


def _check_fallback(fallback: str, task: Task) -> None:
    module, colon, name = fallback.partition(":")
    words = f"{module}.{name}".split(".") if colon else [module]
    if fallback and not all(word.isidentifier() for word in words):
        raise UsageError(f"the fallback '{fallback}' is neither module:function nor the name of a task's baseline")
    own = next((file.text for file in task.files if file.path == BASELINES), "")
    if fallback and not colon and f'"{fallback}"' not in own:
        raise UsageError(f"the task brings no baseline '{fallback}' along; a function elsewhere is module:function")


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
        "settings": record.opened.settings.to_share().model_dump(mode="json"),
        "task": record.opened.task.model_dump(mode="json"),
    }


def _package_files(found: Sequence[Winner], *, fallback: str, cache: Path) -> Files:
    """A single kernel lies beside the module, several each in a folder of their own."""
    files: Files = {}
    kernels = []
    for winner in found:
        place = "" if len(found) == 1 else f"kernels/{winner.key}/"
        mine, data = kernel_files(winner, place, cache=cache)
        files |= mine
        files[f"{place}evidence.json"] = _json(evidence(winner.record, winner.row))
        kernels.append(data)
    task = _widest(found)
    files |= _reference_files(task)
    files |= {f"runtime/{path.name}": path.read_text() for path in sorted(RUNTIME.glob("*.py"))}
    files["runtime/__init__.py"] = '"""The dispatcher of this package."""\n'
    if len(found) > 1:
        files["evidence.json"] = _json(_package_evidence(found, kernels))
    reference = _reference_path(task)
    texts = "\0".join(f"{name}\0{text}" for name, text in files.items() if isinstance(text, str))
    spec = package_spec(task, kernels, reference=reference, fallback=fallback, texts=texts)
    return files | _rendered(found, task, spec)


def _widest(found: Sequence[Winner]) -> Task:
    return found[-1].task


def _package_evidence(found: Sequence[Winner], kernels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": "kernelevolve.package/1",
        "kernelevolve": __version__,
        "operator_id": operator_id(found[0].task),
        "kernels": [
            {"key": winner.key, "campaign": winner.record.campaign_id, "step": winner.row.step,
             "where": winner.task.where, "task_id": winner.task.content_id, "measured": winner.measured,
             "evidence": f"{data['folder']}evidence.json", **data}
            for winner, data in zip(found, kernels, strict=True)
        ],
    }  # fmt: skip


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _reference_files(task: Task) -> Files:
    if len(task.files) == 1:
        return {"reference.py": task.files[0].text}
    return {f"reference/{file.path}": file.text for file in task.files}


def _reference_path(task: Task) -> str:
    return "reference.py" if len(task.files) == 1 else f"reference/{task.files[0].path}"


def _rendered(found: Sequence[Winner], task: Task, spec: dict[str, Any]) -> Files:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kernelevolve.interfaces.export", "."), autoescape=False,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "plain": one_line,
        "python": lambda value: pprint.pformat(value, width=110, sort_dicts=False),
    }
    free = free_axes(task)
    tests = {"rule": task.rule.model_dump(mode="json"), "shapes": _test_shapes(found), "free": list(free)}
    values = {
        "spec": spec, "task": task, "free": free, "found": found, "version": __version__, "tests": tests,
        "names": [one.name for one in task.inputs], "static": static_fit(task), "reference": reference_call(task),
        "claim": [line for winner in found for line in _claim_lines(winner)], "rule": rule_text(task.rule),
        "rules": _rule_lines(found), "pitched": [one for one in spec["inputs"] if "pitch" in one],
        "facts": facts_rows(found[0].record.opened.facts), "cuda": spec["device"] == "cuda",
        "what": _what(spec), "backends": _backends(spec), "contents": CONTENTS,
        "n_threads": found[0].record.opened.settings.n_threads,
        "data_dependent": any(axis.role == "output" for axis in task.axes),
    }  # fmt: skip
    names = {f"{task.entry}.py": "wrapper.py.j2", f"test_{task.entry}.py": "test.py.j2", "README.md": "readme.md.j2"}
    return {name: environment.get_template(template).render(values) for name, template in names.items()}


def _backends(spec: dict[str, Any]) -> list[str]:
    return sorted({kernel["backend"] for kernel in spec["kernels"]})


def _what(spec: dict[str, Any]) -> str:
    """What the page is about, in a few words: `A C++ kernel for the CPU`."""
    backends, several = _backends(spec), len(spec["kernels"]) > 1
    word = {"cpp": "C++", "python": "Python"}.get(backends[0], "") if len(backends) == 1 else ""
    kernels = " ".join(part for part in ("" if several else "a", word, "kernels" if several else "kernel") if part)
    chips = sorted({kernel["architecture"] for kernel in spec["kernels"] if kernel["backend"] == "cubin"})
    chip = f"an NVIDIA GPU{f' ({chips[0]})' if chips else ''}" if spec["device"] == "cuda" else "the CPU"
    return f"{kernels[0].upper()}{kernels[1:]} for {chip}"


def _rule_lines(found: Sequence[Winner]) -> list[str]:
    """A Markdown table: kernel, domain, and where they matter the shapes it alone serves or never serves."""
    lists = [name for name in ("only", "never") if any(winner.rule[name] for winner in found)]
    titles = {"only": "exactly these", "never": "never"}
    lines = ["| kernel | shapes it was checked for |" + "".join(f" {titles[name]} |" for name in lists)]
    lines.append("|---|---|" + "---|" * len(lists))
    for winner in found:
        cells = ["; ".join(shape_text(shape) for shape in winner.rule[name] or ()) for name in lists]
        lines.append(f"| {winner.key} | {domain_text(winner.task)} |" + "".join(f" {cell} |" for cell in cells))
    return lines


def _claim_lines(winner: Winner) -> list[str]:
    """Markdown table rows: kernel, level, shape, baseline, speed-up, interval."""
    lines: list[str] = []
    row = winner.row
    for level, verdict in (("sealed", row.sealed), ("confirm", row.confirmed), ("search", row.verdict)):
        if verdict is None or verdict.timing is None or (level == "search" and lines):
            continue
        head = f"| {winner.key} | {level} |"
        for shape in verdict.timing.shapes:
            lines += [
                f"{head} {shape_text(shape.shape)} | {baseline_title(found.baseline)} | {times(found.speedup)} | "
                f"{interval(found.low, found.high)} |"
                for found in shape.comparisons
            ]
        means = ", ".join(
            f"{times(mean)} against {baseline_title(name)}" for name, mean in baseline_means(verdict.timing)
        )
        lines.append(f"{head} geometric mean over shapes | {means} | | |")
    return [one_line(line) for line in lines]


def _test_shapes(found: Sequence[Winner]) -> list[tuple[Shape, str]]:
    """With the kernel that serves each: small shapes of every kernel's domain, odd ones included, those it was
    measured on, and those its task shows."""
    shapes: list[Shape] = []
    for winner in found:
        declared = {axis.name for axis in winner.task.axes if axis.role == "shape"}
        measured = [shape for shape in winner.measured if shape.keys() == declared]
        shapes += [*_small_shapes(winner.task), *measured, *winner.task.shapes.shown]
    unique = [shape for index, shape in enumerate(shapes) if shape not in shapes[:index]]
    return [(shape, serving(found, shape)) for shape in unique]


def _small_shapes(task: Task) -> list[Shape]:
    axes = [axis for axis in task.axes if axis.role == "shape"]
    small: list[Shape] = []
    for wanted in ((5, 7, 3, 11, 9, 13, 17), (16, 8, 32, 4, 24, 12, 20), (1,) * 7):
        shape = {}
        for index, axis in enumerate(axes):
            size = -(-max(axis.low, wanted[index % 7]) // axis.multiple_of) * axis.multiple_of
            shape[axis.name] = size if axis.admits(size) else task.shapes.shown[0][axis.name]
        small.append(shape)
    return small
