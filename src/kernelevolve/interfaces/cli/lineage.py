"""`kernelevolve lineage`: how a candidate came about, without reading the whole campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, CampaignArgument, JsonOption, StoreOption

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.store.base import NodeRow


def lineage(
    campaign: CampaignArgument,
    step: Annotated[int, typer.Argument(help="The candidate to look at.", metavar="STEP")],
    around: Annotated[int, typer.Option("--around", min=0, help="Siblings and children to list, the best first.")] = 3,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """A candidate's ancestors, its best siblings and its best children."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.session import existing_store
    from kernelevolve.queries import best_ancestor, siblings

    opened = existing_store(store)
    campaign_id = opened.resolve(campaign)
    line = opened.lineage(campaign_id, step)
    beside = siblings(opened, campaign_id, step, limit=around)
    below = opened.children(campaign_id, [step], limit=around)[step]
    best = best_ancestor(opened, campaign_id, step)
    data = {
        "campaign": campaign_id, "lineage": [node_data(row) for row in line],
        "best_ancestor": best.step if best else None, "siblings": [node_data(row) for row in beside],
        "children": [node_data(row) for row in below.rows], "n_children": below.n_total,
    }  # fmt: skip

    def render(console: Console) -> None:
        for title, rows in (("lineage", line), ("siblings", beside), (f"children ({below.n_total})", below.rows)):
            if rows:
                console.print(title, style="bold")
            for row in rows:
                console.print(f"  {node_text(row)}", soft_wrap=True)

    emit("lineage", as_json, data, render)
    return 0


def node_data(row: NodeRow) -> dict[str, object]:
    return {
        "step": row.step, "parents": list(row.parents), "operator": row.operator,
        "outcome": row.outcome.value if row.outcome else None, "same_as": row.same_as, "speedup": row.speedup,
        "low": row.low, "high": row.high, "language": row.language, "recipe": row.recipe, "ask": row.ask,
        "candidate_id": row.candidate_id,
    }  # fmt: skip


def node_text(row: NodeRow) -> str:
    from kernelevolve.interfaces.wording import interval, one_line, times

    if row.same_as is not None:
        found = f"same as step {row.same_as}"
    elif row.speedup and row.low and row.high:
        found = f"{times(row.speedup)} [{interval(row.low, row.high)}]"
    else:
        found = row.outcome.value.replace("_", " ") if row.outcome else "pending"
    made = " ".join(word for word in (row.operator, one_line(row.language, 20), one_line(row.recipe, 60)) if word)
    return f"{row.step}  {found}  {made}"
