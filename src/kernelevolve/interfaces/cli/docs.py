"""docs/cli.md, written from the commands themselves."""

from __future__ import annotations

from typing import Any

HEAD = """\
# Command line

This page is written by `python -m kernelevolve.interfaces.cli.docs > docs/cli.md`; a test compares the two.

Every command takes `--json`: one JSON object on standard output, with `"schema": "kernelevolve.<command>/1"`, and
nothing else. An error is one line on standard error, `error: ...`; with `--json` also an object with `error`.

| exit code | meaning |
|---|---|
| 0 | fine |
| 2 | usage: an unknown name, a faulty task, a wrong option |
| 3 | the candidate was rejected (`evaluate`) |
| 4 | the machine failed, or a stored record cannot be read |
| 130 | interrupted; `resume` goes on |

`CAMPAIGN` is an id, the start of one, or `latest`. The store is `--store`, else `$KERNELEVOLVE_STORE`, else
`./kernelevolve-runs`. `kernelevolve --debug COMMAND` prints a traceback when something fails.
"""


def cli_page() -> str:
    """The whole page as Markdown."""
    import typer

    from kernelevolve.interfaces.cli.main import app

    root: Any = typer.main.get_command(app)
    parts = [HEAD, _options_table(root)]
    for name, command in root.commands.items():
        inner = getattr(command, "commands", {})
        for path, one in [(f"{name} {word}", found) for word, found in inner.items()] or [(name, command)]:
            parts.append(f"## {path}\n\n{_usage(path, one)}\n{one.help}\n\n{_options_table(one)}")
    return "\n".join(parts).rstrip() + "\n"


def _usage(path: str, command: Any) -> str:
    words = [_argument_word(param) for param in command.params if param.param_type_name == "argument"]
    return f"    kernelevolve {' '.join([path, *words])} [options]\n"


def _argument_word(param: Any) -> str:
    name = str(param.metavar or param.name)
    return name if param.required else f"[{name}]"


def _options_table(command: Any) -> str:
    rows = [_row(param) for param in command.params if param.name != "help"]
    return "| option | default | meaning |\n|---|---|---|\n" + "".join(rows) if rows else ""


def _row(param: Any) -> str:
    argument = param.param_type_name == "argument"
    names = [_argument_word(param)] if argument else [*param.opts]
    without = param.default is None or param.default is False or (argument and param.required)
    default = "" if without else f"`{param.default}`"
    words = " ".join(str(param.help or "").split())
    return f"| `{'`, `'.join(names)}` | {default} | {words} |\n"


if __name__ == "__main__":
    print(cli_page(), end="")
