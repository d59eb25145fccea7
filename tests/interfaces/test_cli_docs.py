"""docs/cli.md says what the commands say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from kernelevolve.interfaces.cli.docs import cli_page
from kernelevolve.interfaces.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_the_generated_one():
    assert PAGE.read_text(encoding="utf-8") == cli_page(), (
        "run: python -m kernelevolve.interfaces.cli.docs > docs/cli.md"
    )


def test_every_command_and_option_is_on_the_page_and_explained():
    text = PAGE.read_text(encoding="utf-8")
    root: Any = typer.main.get_command(app)
    commands = dict(root.commands)
    for group in ("task", "campaign", "toolchain"):
        commands |= {f"{group} {name}": command for name, command in commands.pop(group).commands.items()}
    assert len(commands) == 24
    for name, command in commands.items():
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert "`--json`" in section
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert all(f"`{option}`" in section for option in parameter.opts), (name, parameter.name)
            assert parameter.help or parameter.name == "help", (name, parameter.name)
