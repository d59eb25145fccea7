"""The parts that do not depend on earlier attempts: how to answer, the task, its public shapes, the machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kernelevolve.briefs.fences import fence, inline
from kernelevolve.briefs.parts import Part
from kernelevolve.briefs.query import languages_of
from kernelevolve.model.brief import Brief, Operator
from kernelevolve.model.task import FLOAT_DTYPES, Axis, Rule, Task, TensorSpec
from kernelevolve.toolchains import languages_for
from kernelevolve.toolchains.abi import is_scalar, parameter_names, prototype

NOTES = Path(__file__).parent / "languages"
UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
N_IN_FLIGHT = 8
KERNELBENCH_NOTE = (
    "The operator is `Model(...).forward(...)`. Inputs whose names begin with `p_` are its parameters and buffers: "
    "`p_conv_weight` is `conv.weight`."
)
ASKS = {
    Operator.DRAFT: "Write a new kernel from the task alone.",
    Operator.MUTATE: "Make the current kernel faster; if it is not right, mend it first. Any change is welcome: a "
    "parameter, the structure, the algorithm.",
    Operator.CROSS: "Combine what is good in the current kernels into one.",
}


def answer_parts(brief: Brief) -> list[Part]:
    languages = languages_of(brief)
    known = [name for name in languages if _note(name, brief.task.platform)]
    parts = [Part(id=f"answer:{name}", text=_answer(brief.task, name)) for name in known]
    if others := [name for name in languages_for(brief.task.platform) if name not in languages]:
        parts.append(Part(id="answer:others", text=f"Other languages that are taken: {', '.join(others)}."))
    return parts


def _answer(task: Task, language: str) -> str:
    note, names = _note(language, task.platform), ", ".join(parameter_names(task))
    if language == "cpp":
        declared = f'extern "C" {prototype(task)};'
        return f"{note}\n\n{fence(declared, 'cpp')}"
    if language == "python":
        return f"{note}\n\n{fence(f'def {task.entry}({names}):', 'python')}"
    return f"{note}\n\nNames for the plan's arguments and expressions: {inline(names, 2000)}."


@cache
def _note(language: str, platform: str) -> str:
    """Of the language on this platform where that differs. Empty for a language that has none; a language is one plain
    word, never a path, and so is a platform."""
    if not (language.isalnum() and platform.isalnum()):
        return ""
    for path in (NOTES / f"{language}_{platform}.md", NOTES / f"{language}.md"):
        if path.is_file():
            return path.read_text("utf-8").strip()
    return ""


def task_parts(brief: Brief) -> list[Part]:
    task = brief.task
    lines = [f"Operator {inline(task.name)}, entry point {inline(task.entry)}, on {inline(task.platform)}."]
    if task.where:
        lines.append(f"Only this part of its domain is asked for: {inline(task.where)}.")
    if task.fixed_size:
        lines.append("Its size is fixed: every call has the sizes below.")
    lines += ["", "Axes:", *map(_axis, task.axes)] if task.axes else []
    lines += ["", "Inputs:", *map(_tensor, task.inputs)]
    if task.outputs:
        lines += ["", "Outputs:", *map(_tensor, task.outputs)]
    lines += ["", f"What is right: {_rule(task.rule)} {_odd_values(task)}".rstrip()]
    if task.rollout:
        lines.append(
            f"Also over {task.rollout.steps} steps that carry {inline(task.rollout.state)}: the relative error (L2) "
            f"stays within {task.rollout.relative_l2:g}."
        )
    lines.append(f"What is timed: {_timed(brief)}.")
    parts = [Part(id="task", text="\n".join(lines))]
    if task.summary:
        parts.append(Part(id="summary", text=f"In its author's words:\n\n{fence(task.summary, 'text')}"))
    return parts


def _timed(brief: Brief) -> str:
    """Of host code nothing is believed that a device's clock would need."""
    objective = brief.task.objective
    cold = "with caches emptied before each call" if objective.cache == "cold" else "with inputs in cache"
    if objective.clock == "device" and languages_of(brief)[:1] == ("python",):
        return f"each call from outside, {cold}; of device code the device's own time"
    clock = "the device's own time" if objective.clock == "device" else "the whole call"
    return f"{clock}, {cold}"


def reference_parts(brief: Brief) -> list[Part]:
    """The first file is the one that is loaded. Of a KernelBench problem it only calls the second, which is shown."""
    task, note = brief.task, ""
    files = task.files
    if task.format == "kernelbench":
        files, note = files[1:2] or files, f"{KERNELBENCH_NOTE}\n\n"
    return [
        Part(id=f"reference:{file.path}", text=f"{inline(file.path)}\n\n{note}{fence(file.text, 'python')}")
        for file in files
    ]


def shape_parts(brief: Brief) -> list[Part]:
    shapes = [", ".join(f"{name}={size}" for name, size in shape.items()) for shape in brief.task.shapes.shown]
    lines = [f"- {shape or 'the sizes that the inputs are declared with'}" for shape in dict.fromkeys(shapes)]
    told = "Typical of the domain; others, which are not told, are checked and timed as well."
    if brief.task.fixed_size:
        told = "The size is fixed: there is no other one."
    return [Part(id="shapes", text="\n".join((*lines, "", told)))]


def platform_parts(brief: Brief) -> list[Part]:
    facts = brief.facts
    rows = (
        ("cores", str(facts.n_cores)),
        ("instruction sets", " ".join(facts.isa)),
        ("first-level data cache, of a core", _bytes(facts.l1d_bytes)),
        ("second-level cache", _bytes(facts.l2_bytes)),
        ("third-level cache", _bytes(facts.l3_bytes)),
        ("memory", _bytes(facts.memory_bytes)),
        ("copy rate from memory, read + write", _rate(facts.copy_gb_per_s, "GB/s")),
        ("copy rate in cache", _rate(facts.cached_copy_gb_per_s, "GB/s")),
        ("multiply-add, float32", _rate(facts.fma_gflop_per_s, "GFLOP/s")),
        ("compilers", "; ".join(facts.compilers)),
    )
    lines = [f"- {what}: {inline(value)}" for what, value in rows if value]
    return [Part(id="platform", text="\n".join((f"{inline(facts.model or facts.name)}:", *lines)))]


def asked_parts(brief: Brief) -> list[Part]:
    move = brief.move
    lines = [ASKS[move.operator]]
    if brief.n_wanted > 1:
        lines.append(f"Up to {brief.n_wanted} candidates, different in kind from each other.")
    if move.language:
        lines.append(f"Write it in another language than before: {inline(move.language)}.")
    if move.avoid:
        lines.append(f"These led nowhere so far; try something else: {', '.join(map(inline, move.avoid))}.")
    if brief.in_flight:
        named = ", ".join(inline(each.origin.intent or "not said", 80) for each in brief.in_flight[:N_IN_FLIGHT])
        lines.append(f"Handed in and not judged yet ({len(brief.in_flight)}), not to be made again: {named}.")
    if brief.remaining is not None:
        lines.append(f"Candidates left in the budget, this one included: {brief.remaining}.")
    return [Part(id="asked", text="\n".join(lines))]


def _axis(axis: Axis) -> str:
    if axis.role == "pitch":
        step = f"a multiple of {axis.multiple_of} " if axis.multiple_of > 1 else "any number "
        told = f"elements from one row of a tensor to the next: the row's own length, or {step}above it"
    elif axis.role != "shape":
        told = f"read off an {axis.role}"
    else:
        told = f"{axis.low}" if axis.low == axis.high else f"{axis.low} to {axis.high}"
        told += f", a multiple of {axis.multiple_of}" if axis.multiple_of > 1 else ""
    return f"- {axis.name}: {told}" + (f"; {inline(axis.description)}" if axis.description else "")


def _tensor(spec: TensorSpec) -> str:
    kind = "a number" if is_scalar(spec) else f"[{', '.join(spec.dims)}]"
    marks = [", updated in place"] if spec.in_place else []
    marks += (
        [", a parameter: it may change between calls all the same, so read it in every call"] if spec.static else []
    )
    if spec.pitch:
        marks.append(f", rows {spec.pitch} elements apart: never write what lies between them, nor use what it holds")
    return f"- {spec.name}: {spec.dtype} {kind}{''.join(marks)}" + (
        f"; {inline(spec.description)}" if spec.description else ""
    )


def _odd_values(task: Task) -> str:
    if not any(spec.dtype in FLOAT_DTYPES for spec in (*task.inputs, *task.outputs)):
        return ""
    if task.rule.kind == "bitwise":
        return "Floating-point inputs may hold NaN and infinity."
    return (
        "Expect NaN and infinity only where an input's or the operator's description names them, or where numbers grow "
        "too large for their format; where the right answer is one, yours must be the same."
    )


def _rule(rule: Rule) -> str:
    if rule.kind == "bitwise":
        return "every byte equal to the reference's."
    if rule.kind == "allclose":
        return f"|got - wanted| <= {rule.rtol:g} * (1 + |wanted|) for every element."
    return (
        f"|got - wanted| <= {rule.rtol:g} * |wanted| + {rule.rms:g} * RMS(wanted) for every element, wanted computed "
        "in float64; a 16-bit format's own rounding comes on top."
    )


def _bytes(n: int | None) -> str:
    if not n:
        return ""
    unit, size = next(pair for pair in UNITS if n >= pair[1])
    return f"{n / size:.4g} {unit}"


def _rate(value: float | None, unit: str) -> str:
    return f"{value:.4g} {unit}" if value else ""
