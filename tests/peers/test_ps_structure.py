"""Faults of whole programs elsewhere: settings nobody reads, members no suite tests, clocks left changed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

from kernelevolve.model.brief import Move
from kernelevolve.model.events import Settings
from kernelevolve.model.job import Job, Limits, Preparation
from kernelevolve.model.verdict import Comparison

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "kernelevolve"
FILES = {path: path.read_text() for path in SOURCE.rglob("*.py") if "recipes" not in path.parts}
CLASSES = [
    text
    for folder in (ROOT / "tests", SOURCE / "testing")
    for path in folder.rglob("*.py")
    if "attacks" not in path.parts and "class " in (text := path.read_text())
]


def reads(tree: ast.AST, owner: str) -> set[str]:
    """Names of attributes that are read off something called `owner`: `settings.x`, `job.settings.x`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if name.lstrip("_") == owner:
                found.add(node.attr)
    return found


@pytest.mark.parametrize(
    ("owner", "fields"),
    [
        ("settings", set(Settings.model_fields)),
        ("limits", set(Limits.model_fields)),
        ("job", set(Job.model_fields) - {"schema_version"}),
        ("move", set(Move.model_fields)),
    ],
)
def test_every_setting_is_read_somewhere(owner: str, fields: set[str]) -> None:
    """PS16: outside the file that declares it, and the command line that only passes it on."""
    found = set()
    for path, text in FILES.items():
        if "model" not in path.parts and "cli" not in path.parts and f"{owner}." in text:
            found |= reads(ast.parse(text), owner)
    assert fields - found == set()


@pytest.mark.parametrize("value", [Settings, Preparation, Job, Limits, Move])
def test_unknown_settings_are_refused(value: type[Settings]) -> None:
    """PS16"""
    with pytest.raises(ValidationError) as caught:
        value.model_validate({"n_drafst": 3})
    assert any(error["type"] == "extra_forbidden" and error["loc"] == ("n_drafst",) for error in caught.value.errors())


def test_no_option_is_lost_on_the_way() -> None:
    """PS16: whatever a function of the command line takes, it uses."""
    lost = []
    for path, text in FILES.items():
        for function in ast.walk(ast.parse(text)) if "cli" in path.parts else ():
            if isinstance(function, ast.FunctionDef):
                taken = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)} - {"self", "_"}
                used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
                lost += [f"{path.name}: {function.name}({name})" for name in sorted(taken - used)]
    assert set(lost) <= {
        "main.py: root(debug)",  # read off the arguments before any command
        "agent.py: agent(as_json)",  # accepted, because every other command takes it; it answers in JSON always
    }


def test_clocks_of_a_device_are_never_changed() -> None:
    """PS41: what was not changed need not be put back, whoever kills us."""
    changes = re.compile(
        r"nvmlDeviceSet|nvmlDeviceReset|lock-gpu-clocks|lock-memory-clocks|applications-clocks|['\"]-[lr]gc|['\"]-ac['\"]"
        r"|scaling_governor|scaling_setspeed|persistence-mode|power-limit|intel_pstate/no_turbo"
    )
    scripts = [*SOURCE.rglob("*"), *(ROOT / "benchmarks").rglob("*")]
    texts = {path: path.read_text(errors="replace") for path in scripts if path.suffix in (".py", ".sh", ".cpp", ".h")}
    assert len(texts) > 200
    assert [path.name for path, text in texts.items() if changes.search(text)] == []


def suites(case: str) -> set[str]:
    """What the bodies of all test classes made from a suite name, directly or by way of another class."""
    known = [node for text in CLASSES for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    of_case: dict[str, ast.ClassDef] = {
        case: ast.ClassDef(name=case, bases=[], keywords=[], body=[], decorator_list=[])
    }
    for _ in range(3):
        for node in known:
            if {base.id for base in node.bases if isinstance(base, ast.Name)} & of_case.keys():
                of_case[node.name] = node
    inside = [inner for name, node in of_case.items() if name.startswith("Test") for inner in ast.walk(node)]
    return {inner.id for inner in inside if isinstance(inner, ast.Name)}


@pytest.mark.parametrize(
    ("family", "table", "case", "apart"),
    [
        ("farm", "FARMS", "FarmCase", set()),
        ("store", "STORES", "StoreCase", set()),
        ("search", "POLICIES", "PolicyCase", set()),
        ("toolchains", "TOOLCHAINS", "ToolchainCase", {"FakeToolchain"}),  # made for tests of other parts
    ],
)
def test_every_member_of_a_family_is_put_through_its_suite(
    family: str, table: str, case: str, apart: set[str]
) -> None:  # fmt: skip
    """PS46: one suite for all of them, and none of it needs a GPU."""
    members = {where.partition(":")[2] for where in getattr(import_module(f"kernelevolve.{family}"), table).values()}
    assert members - suites(case) == apart


def test_whole_numbers_are_figures() -> None:
    """PS55"""
    text = (
        '{"baseline": "eager", "baseline_us": 4, "candidate_us": 2, "speedup": 2, "low": 1, "high": 3,'
        ' "log_ratios": [1, 0]}'
    )
    found = Comparison.from_json(text)
    assert (found.speedup, found.log_ratios) == (2.0, (1.0, 0.0))


@pytest.mark.parametrize("package", ["openai", "anthropic"])
def test_a_package_that_fails_to_import_is_told_with_its_own_words(package: str, tmp_path: Path) -> None:
    """PS44: installed and broken is not called missing."""
    (tmp_path / f"{package}.py").write_text("raise ImportError('libquux.so.7: cannot open shared object file')\n")
    code = (
        "from kernelevolve.proposers import make_proposer\n"
        "from kernelevolve.proposers.base import Tools\n"
        "from kernelevolve.testing.proposer_case import sample_brief\n"
        "from kernelevolve.testing.samples import sample_task\n"
        "from kernelevolve.proposers.ledger import Limits, MemoryLedger\n"
        f"environ = {{'{package.upper()}_API_KEY': 'k', '{package.upper()}_BASE_URL': 'http://127.0.0.1:9'}}\n"
        "tools = Tools(environ=environ, ledger=MemoryLedger(Limits(max_tokens=10**7)))\n"
        "try:\n"
        f"    make_proposer('{package}:m', tools).propose(sample_brief(sample_task()))\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stdout.startswith("ToolMissingError")
    assert "libquux.so.7" in done.stdout


def test_nothing_stands_between_us_and_the_official_sdks() -> None:
    """PS56: no package that gathers other providers' APIs is asked for, and the core asks for no provider's at all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.split(r"[\[<>=~!; ]", one)[0].lower() for one in wanted}
    assert names.isdisjoint({"litellm", "langchain", "openrouter", "dspy", "aisuite"})
    core = {re.split(r"[\[<>=~!; ]", one)[0].lower() for one in project["dependencies"]}
    assert core.isdisjoint({"openai", "anthropic", "mcp", "httpx", "torch"})


def test_the_core_runs_where_no_provider_is_installed(tmp_path: Path) -> None:
    """PS56: every part but the extras imports, and a campaign runs, without them."""
    absent = ("litellm", "openai", "anthropic", "mcp", "httpx", "psycopg", "torch", "numpy")
    code = (
        f"import sys\nfor name in {absent!r}: sys.modules[name] = None\n"
        "from kernelevolve.interfaces.cli.main import main\n"
        "sys.exit(main(['run', 'softmax', '--platform', 'fake', '--max-candidates', '3', '--json',"
        f" '--store', {str(tmp_path)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"schema"' in done.stdout
