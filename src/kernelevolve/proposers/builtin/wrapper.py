"""Reads the Python module that Inductor writes: the C++ kernels in it and the statements of its `call`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from kernelevolve.errors import ProposerError


@dataclass(frozen=True, kw_only=True)
class Kernel:
    name: str
    types: tuple[str, ...]
    """C++ types of the arguments, e.g. `const float*`."""
    source: str
    """From its includes to its end; the function is `extern "C" void kernel(...)`."""


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    arguments: tuple[str, ...]
    kernels: dict[str, Kernel]
    statements: tuple[ast.stmt, ...]


def parse_wrapper(code: str) -> Wrapper:
    """Raises ProposerError for a module of another build than expected."""
    tree = ast.parse(code)
    kernels: dict[str, Kernel] = {}
    body: list[ast.stmt] | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (kernel := _kernel(node)):
            kernels[kernel.name] = kernel
        if isinstance(node, ast.FunctionDef) and node.name == "call":
            body = node.body
    if body is None:
        raise ProposerError("Inductor's code has no function call")
    first = body[0]
    if not (isinstance(first, ast.Assign) and isinstance(first.value, ast.Name) and first.value.id == "args"):
        return Wrapper(arguments=(), kernels=kernels, statements=tuple(body))
    names = first.targets[0].elts if isinstance(first.targets[0], ast.Tuple) else [first.targets[0]]
    arguments = tuple(name.id for name in names if isinstance(name, ast.Name))
    return Wrapper(arguments=arguments, kernels=kernels, statements=tuple(body[1:]))


def _kernel(node: ast.Assign) -> Kernel | None:
    call = node.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "cpp_pybinding"):
        return None
    types, source = (ast.literal_eval(argument) for argument in call.args[:2])
    assert isinstance(node.targets[0], ast.Name)
    return Kernel(name=node.targets[0].id, types=tuple(types), source=source)


def kernel_text(kernel: Kernel) -> str:
    """The kernel in a namespace of its own, with the framework's macros in its OpenMP pragmas."""
    text = re.sub(r"^\s*#include .*$", "", kernel.source, flags=re.M).strip()
    text, n_found = re.subn(r'extern "C"\s+void\s+kernel\(', "static void kernel(", text)
    if n_found != 1:
        raise ProposerError(f"Inductor's {kernel.name} is not a single C++ function")
    text = re.sub(
        r"#pragma omp parallel( num_threads\(\w+\))?",
        "#pragma omp parallel num_threads(KE_THREADS) if(ke_work >= KE_GRAIN)",
        text,
    )
    text = re.sub(r"#pragma omp for\b(.*)", r"#pragma omp for\1 KE_SCHEDULE", text)
    return f"namespace {kernel.name} {{\n{text}\n}}\n"
