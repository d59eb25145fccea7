"""House rules as tests: what imports what, what loads what, and how long things may get."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "kernelevolve"
FILES = sorted(SOURCE.rglob("*.py"))


def test_layers() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout


@pytest.mark.parametrize(
    "module",
    ["kernelevolve", "kernelevolve.interfaces.cli.main", "kernelevolve.store", "kernelevolve.campaign.loop",
     "kernelevolve.queries", "kernelevolve.search", "kernelevolve.farm.process", "kernelevolve.tasks",
     "kernelevolve.proposers", "kernelevolve.platforms.cpu", "kernelevolve.toolchains.cpp"],
)  # fmt: skip
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('torch', 'triton', 'numpy', 'ray') if m in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


def test_the_package_itself_loads_nothing_of_ours() -> None:
    code = "import sys, kernelevolve; print([m for m in sys.modules if m.startswith('kernelevolve.')])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


def test_no_file_is_longer_than_400_lines() -> None:
    long = {str(path.relative_to(ROOT)): n for path in FILES if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                if length > 60:
                    long.append((str(path.relative_to(ROOT)), node.name, length))
    assert long == []


def test_the_loop_stays_short() -> None:
    assert len((SOURCE / "campaign" / "loop.py").read_text().splitlines()) <= 150


BORDERS = {
    "evaluation/judge.py", "evaluation/reference_server.py", "evaluation/task_module.py", "evaluation/python_runner.py",
    "interfaces/cli/border.py",
    "tasks/kernelbench_probe.py", "tasks/kernelbench_facts.py", "proposers/builtin/inductor_extract.py",
    "toolchains/emit/harness.py",
}  # fmt: skip
"""Where everything may be caught: child processes, foreign code, the command line. This list may only shrink."""


def test_broad_excepts_stay_at_the_borders() -> None:
    found = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            broad = isinstance(node, ast.ExceptHandler) and (
                node.type is None
                or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
            )
            if broad and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
                found.add(str(path.relative_to(SOURCE)))
    assert found <= BORDERS


def test_no_catch_all_modules() -> None:
    names = {path.stem for path in FILES}
    assert names.isdisjoint({"utils", "util", "common", "helpers", "misc"})


@pytest.mark.parametrize(
    ("module", "table"),
    [("tasks", "FORMATS"), ("platforms", "PLATFORMS"), ("toolchains", "TOOLCHAINS"), ("farm", "FARMS"),
     ("store", "STORES"), ("search", "POLICIES"), ("proposers", "PROPOSERS"),
     ("briefs.knowledge", "KNOWLEDGE")],
)  # fmt: skip
def test_every_family_is_a_table_of_names_that_resolve(module: str, table: str) -> None:
    code = (
        f"from importlib import import_module\nimport kernelevolve.{module} as f\n"
        f"for name, where in f.{table}.items():\n    m, _, a = where.partition(':')\n    getattr(import_module(m), a)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
