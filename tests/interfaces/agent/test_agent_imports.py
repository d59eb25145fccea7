"""The SDK of MCP is an extra: nothing but serving MCP needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    ["kernelevolve.interfaces.cli.main", "kernelevolve.interfaces.agent.service",
     "kernelevolve.interfaces.agent.http_server", "kernelevolve.interfaces.agent.client"],
)  # fmt: skip
def test_nothing_loads_the_sdk_unasked(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('mcp', 'starlette', 'uvicorn', 'torch') if m in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


def test_without_the_sdk_one_is_told_what_to_install() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from kernelevolve.interfaces.cli.main import main; sys.exit(main(['serve', '--mcp', 'stdio']))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 4
    assert "kernelevolve[mcp]" in finished.stderr
