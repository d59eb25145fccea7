"""The part of a task's source that says what the operator does: without the oracle and without how inputs are drawn."""

from __future__ import annotations

import ast

from kernelevolve.model.task import SourceFile, Task

ROOTS = ("reference", "Model", "run")
"""What the formats call the operator: native, KernelBench, flashinfer-trace."""
NEVER = ("oracle", "make_inputs", "get_inputs", "get_init_inputs", "VARIANTS")
KERNELBENCH_ROOTS = ("Model", "get_init_inputs")
"""What a model is built with (a stride, a number of groups) is a part of the operator."""
KERNELBENCH_NEVER = ("get_inputs",)


def reference_file(task: Task) -> SourceFile:
    """The file that the operator stands in. Of a KernelBench problem the first file only calls the second."""
    return task.files[1] if task.format == "kernelbench" and len(task.files) > 1 else task.files[0]


def shown_reference(task: Task) -> str:
    """Empty where no operator is found in it. The source is read, never run."""
    text, bench = reference_file(task).text, task.format == "kernelbench"
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return ""
    named = {name: node for node in module.body for name in _names(node)}
    wanted = [name for name in (KERNELBENCH_ROOTS if bench else ROOTS) if name in named]
    if not wanted:
        return ""
    kept: set[ast.stmt] = {node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)}
    if bench:  # its docstring, and the sizes it is for
        kept |= {node for node in module.body if _is_plain(node)}
    while wanted:
        node = named[wanted.pop()]
        if node in kept:
            continue
        kept.add(node)
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        never = KERNELBENCH_NEVER if bench else NEVER
        wanted += [name for name in sorted(used) if name in named and name not in never]
    return "\n".join(_source(text, node) for node in module.body if node in kept) + "\n"


def _source(text: str, node: ast.stmt) -> str:
    """With its decorators, which `ast` counts separately."""
    decorators = getattr(node, "decorator_list", [])
    above = [f"@{ast.get_source_segment(text, each) or ''}" for each in decorators]
    return "\n".join([*above, ast.get_source_segment(text, node) or ""])


def _is_plain(node: ast.stmt) -> bool:
    """A text or a constant that stands by itself in a module."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple | ast.List)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []
