"""Checks of a task's Python source, by its syntax tree alone."""

from __future__ import annotations

import ast
import sys
from importlib.util import find_spec
from pathlib import Path

from kernelevolve.model.task import SourceFile
from kernelevolve.tasks.reading import parse_python

BASELINES = "baselines.py"
MAKE_INPUTS = ("sizes", "rng", "variant")
_ALWAYS = {"torch", "numpy"}  # present wherever a judge runs, perhaps not here


def source_faults(
    files: tuple[SourceFile, ...], names: dict[str, str], inputs: list[str] | None, axes: list[str]
) -> list[str]:
    """Everything the syntax trees of the files tell. `names`: what to call each file in a message."""
    faults: list[str] = []
    local = {Path(file.path).parts[0].removesuffix(".py") for file in files}
    for index, file in enumerate(files):
        label = names[file.path]
        tree = parse_python(file.text, label, faults)
        if tree is None:
            continue
        if file.path != BASELINES:  # what others have installed; an arm that is not there is left out
            faults += import_faults(tree, label, local)
        if index == 0:
            faults += signature_faults(tree, label, inputs, axes)
            faults += constant_faults(tree, label)
    return faults


def function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The last top-level `def name`, the one Python would keep."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return found[-1] if found else None


def signature_faults(tree: ast.Module, label: str, input_names: list[str] | None, axis_names: list[str]) -> list[str]:
    """make_inputs, reference and oracle: present, and with the declared arguments. `input_names` None: unknown.
    reference and oracle may also ask for axes, where a size cannot be read off an input."""
    faults = []
    wanted = {"make_inputs": list(MAKE_INPUTS), "reference": input_names, "oracle": input_names}
    for name, expected in wanted.items():
        node = function(tree, name)
        if node is None:
            if name != "oracle":
                arguments = ", ".join(expected if expected is not None else ["..."])
                faults.append(f"{label}: defines no function {name}({arguments}) at top level")
        elif expected is not None:
            faults += argument_faults(
                node, f"{label} line {node.lineno}", expected, [] if name == "make_inputs" else axis_names
            )
    return faults


def argument_faults(node: ast.FunctionDef, where: str, expected: list[str], optional: list[str]) -> list[str]:
    """How the function's arguments differ from `expected`, passed by name; those in `optional` may be there too."""
    arguments = node.args
    if arguments.vararg or arguments.kwarg:
        return [f"{where}: {node.name} must list its arguments, without * or **"]
    faults = []
    if arguments.posonlyargs:
        faults.append(f"{where}: {node.name} gets its arguments by name; remove the '/'")
    have = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    missing = [name for name in expected if name not in have]
    extra = [name for name in have if name not in expected and name not in optional]
    if missing:
        faults.append(f"{where}: {node.name} lacks the argument {', '.join(missing)}")
    if extra:
        source = "a declared input or axis" if node.name != "make_inputs" else "an argument it is given"
        faults.append(f"{where}: {node.name} has the argument {', '.join(extra)}, which is not {source}")
    return faults


def constant_faults(tree: ast.Module, label: str) -> list[str]:
    """VARIANTS and SCALES, where they are literals."""
    faults = []
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, where = node.targets[0].id, f"{label} line {node.lineno}"
        if name not in ("VARIANTS", "SCALES"):
            continue
        try:
            value = ast.literal_eval(node.value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            faults.append(f"{where}: {name} must be a literal tuple")
            continue
        items = list(value) if isinstance(value, tuple | list) else [None]
        if name == "VARIANTS" and (not items or items[0] != "nominal" or not all(isinstance(i, str) for i in items)):
            faults.append(f'{where}: VARIANTS must be a tuple of names that starts with "nominal"')
        if name == "SCALES" and not all(isinstance(item, int | float) for item in items):
            faults.append(f"{where}: SCALES must be a tuple of numbers, () to switch scaling off")
    return faults


def import_faults(tree: ast.Module, label: str, local: set[str]) -> list[str]:
    """Imports that no file of the task and no installed package can satisfy. Finds modules, loads none."""
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            faults.append(f"{label} line {node.lineno}: relative import; files of a task import each other by name")
            continue
        if isinstance(node, ast.Import):
            roots = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            roots = [node.module.partition(".")[0]]
        else:
            continue
        faults += [
            f"{label} line {node.lineno}: imports '{root}', which is neither a file of the task nor installed"
            for root in roots
            if root not in local and root not in _ALWAYS and not _installed(root)
        ]
    return faults


def _installed(root: str) -> bool:
    if root in sys.stdlib_module_names:
        return True
    try:
        return find_spec(root) is not None
    except (ImportError, ValueError):
        return False
