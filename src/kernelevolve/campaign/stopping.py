"""When the search ends. Adding a rule: a function, a line in `RULES`."""

from __future__ import annotations

from kernelevolve.model.events import Settings
from kernelevolve.search.tree import Tree

NOTHING_LEFT = "the proposer had nothing more to propose"


def candidates_spent(tree: Tree, settings: Settings, elapsed_s: float) -> str | None:
    return f"all {settings.max_candidates} candidates spent" if len(tree) >= settings.max_candidates else None


def time_spent(tree: Tree, settings: Settings, elapsed_s: float) -> str | None:
    return f"{settings.max_seconds:g} s of search spent" if elapsed_s >= settings.max_seconds else None


RULES = (candidates_spent, time_spent)


def stop_reason(tree: Tree, settings: Settings, elapsed_s: float) -> str | None:
    """None: go on."""
    return next((reason for rule in RULES if (reason := rule(tree, settings, elapsed_s))), None)
