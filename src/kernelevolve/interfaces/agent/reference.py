"""The part of a task's source that says what the operator does: without the oracle and without how inputs are drawn."""

from __future__ import annotations

import ast

from kernelevolve.model.task import Task

ROOTS = ("reference", "Model", "run")
"""What the formats call the operator: native, KernelBench, flashinfer-trace."""
NEVER = ("oracle", "make_inputs", "get_inputs", "get_init_inputs", "VARIANTS")


def shown_reference(task: Task) -> str:
    """Empty where no operator is found in it. The source is read, never run."""
    text = task.files[0].text
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return ""
    named = {name: node for node in module.body for name in _names(node)}
    wanted = [name for name in ROOTS if name in named]
    if not wanted:
        return ""
    kept: set[ast.stmt] = {node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)}
    while wanted:
        node = named[wanted.pop()]
        if node in kept:
            continue
        kept.add(node)
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        wanted += [name for name in sorted(used) if name in named and name not in NEVER]
    parts = [ast.get_source_segment(text, node) or "" for node in module.body if node in kept]
    return "\n".join(parts) + "\n"


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []
