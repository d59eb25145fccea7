"""`kernelevolve toolchain ...`: the languages kernels may be written in, and the compilers they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

app = typer.Typer(help="Languages and their compilers: list, install.", no_args_is_help=True)


@app.command("list")
def list_toolchains(as_json: JsonOption = False) -> int:
    """Every language with its platforms, and what is missing before it can be compiled here."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.toolchains import PLATFORMS, TOOLCHAINS, make_toolchain
    from kernelevolve.toolchains.cache import default_cache

    rows = []
    for language in TOOLCHAINS:
        toolchain = make_toolchain(language, cache=default_cache())
        problem = toolchain.problem()
        rows.append({
            "language": language, "platforms": list(PLATFORMS.get(language, ())), "lane": toolchain.lane,
            "suffixes": list(toolchain.suffixes), "ready": problem is None, "problem": problem or "",
        })  # fmt: skip
    emit("toolchain.list", as_json, {"toolchains": rows}, lambda console: _render(rows, console))
    return 0


@app.command("install")
def install_toolchains(
    names: Annotated[
        list[str], typer.Argument(help="Languages whose compilers are to be installed.", metavar="NAME...")
    ],
    as_json: JsonOption = False,
) -> int:
    """Install compilers from the package index, each into an environment of its own, pinned. Nothing is done twice.

    The place is $KERNELEVOLVE_ENVIRONMENTS, else the folder `environments` of the cache.
    """
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.toolchains.environments import environment_of, install

    made = [(name, install(environment_of(name))) for name in names]
    data = {"installed": [{"language": name, **environment.model_dump(mode="json")} for name, environment in made]}

    def render(console: Console) -> None:
        for name, environment in made:
            console.print(f"{name:<10}{environment.identity} in {environment.site}", soft_wrap=True)

    emit("toolchain.install", as_json, data, render)
    return 0


def _render(rows: Sequence[dict[str, object]], console: Console) -> None:
    from rich.text import Text

    from kernelevolve.toolchains import PLATFORMS

    for row in rows:
        mark, style = ("ready", "green") if row["ready"] else ("without", "yellow")
        platforms = " ".join(PLATFORMS.get(str(row["language"]), ("any",)))
        line = Text.assemble((f"{mark:<9}", style), f"{row['language']:<10}{platforms:<10}{row['problem']}")
        console.print(line, soft_wrap=True)
