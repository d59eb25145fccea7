"""Pages cannot rot: their links resolve and their shell blocks run as written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    broken = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert broken == []


def test_the_readmes_folder_map_is_the_tree() -> None:
    text = (ROOT / "README.md").read_text()
    listed = set(re.findall(r"^  (\w+)/ ", text, re.M))
    real = {path.parent.name for path in (ROOT / "src" / "kernelevolve").glob("*/__init__.py")}
    assert listed == real


@pytest.mark.slow
@pytest.mark.parametrize("name", ["your-operator.md", "abi.md"])
def test_shell_blocks_run_word_for_word(name: str, tmp_path: Path) -> None:
    """As a new user would, in a folder that holds the repository's docs, with shorter searches."""
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    text = (ROOT / "docs" / name).read_text()
    blocks = [block for block in BLOCK.findall(text) if "pip install" not in block]
    assert blocks
    script = "set -eux\n" + "\n".join(blocks).replace("--max-seconds 60", "--max-seconds 4 --max-candidates 3")
    # An honest "no improvement" has nothing to export: exit code 2 says so and is no fault of the page.
    script = re.sub(r"^(kernelevolve export .*)$", r"\1 || test $? -eq 2", script, flags=re.M)
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    finished = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
