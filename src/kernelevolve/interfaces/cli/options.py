"""Options that several commands share, spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_STORE = Path("kernelevolve-runs")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
StoreOption = Annotated[
    Path, typer.Option("--store", envvar="KERNELEVOLVE_STORE", help="Folder of the campaigns.", metavar="DIR")
]
CampaignArgument = Annotated[
    str, typer.Argument(help="A campaign's id, the start of one, or 'latest'.", metavar="CAMPAIGN")
]
TaskArgument = Annotated[
    str,
    typer.Argument(help="A built-in task's name, a task folder, or a task file (.py, .json).", metavar="TASK"),
]
PlatformOption = Annotated[str, typer.Option("--platform", help="The machine: cpu, cuda, or fake (runs nothing).")]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads for kernels and baselines alike. Default: every core."),
]
BaselineOption = Annotated[
    list[Path] | None,
    typer.Option("--baseline", help="A kernel of your own (.cpp) to be beaten too. May be repeated.", metavar="FILE"),
]
LanguageOption = Annotated[
    str,
    typer.Option(
        "--language", help="What it is written in, where the files do not tell: triton, gluon, tlx, ...", metavar="NAME"
    ),
]
