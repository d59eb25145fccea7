"""Options that several commands share, spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_STORE = Path("kernelevolve-runs")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
StoreOption = Annotated[
    Path,
    typer.Option(
        "--store", envvar="KERNELEVOLVE_STORE", help="Folder of the campaigns, or postgresql://...", metavar="DIR"
    ),
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
AsksOption = Annotated[
    int,
    typer.Option(
        "--n-asks", min=1, help="Questions to the proposer that may be open at once, where it costs anything."
    ),
]
FitnessOption = Annotated[
    str, typer.Option("--fitness", help="What the search ranks by: speedup, latency, energy, pareto.")
]
MemoryOption = Annotated[
    str,
    typer.Option(
        "--memory", help="What a brief shows of the past: auto (the policy chooses), clean, lineage, siblings, both."
    ),
]
KnowledgeOption = Annotated[
    str,
    typer.Option("--knowledge", help="Folder of Markdown files that briefs may quote, or 'shipped'.", metavar="DIR"),
]
UsdOption = Annotated[
    float | None, typer.Option("--max-usd", min=0, help="Never spend more than this on calls to models.")
]
TokensOption = Annotated[
    int | None, typer.Option("--max-tokens", min=0, help="Never use more tokens than this, in and out together.")
]
BriefTokensOption = Annotated[int, typer.Option("--brief-tokens", min=500, help="The longest brief, in tokens.")]
InjectOption = Annotated[
    float,
    typer.Option("--inject-rate", min=0, max=1, help="Share of drafts begun with what won on near tasks in the store."),
]
LanguageOption = Annotated[
    str,
    typer.Option(
        "--language",
        metavar="NAME",
        help="What it is written in, where the files do not tell: triton, gluon, tlx, ... Without it .py is python.",
    ),
]
