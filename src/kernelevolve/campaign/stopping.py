"""When the search ends. Adding a rule: a function, a line in `RULES`."""

from __future__ import annotations

from kernelevolve.campaign.ledger import spent
from kernelevolve.model.events import Settings
from kernelevolve.search.tree import Tree

NOTHING_LEFT = "the proposer had nothing more to propose"
SPENT = "spent: "
"""Begins the message of a question that went unasked because a limit would have been passed."""


def candidates_spent(tree: Tree, settings: Settings, elapsed_s: float) -> str | None:
    return f"all {settings.max_candidates} candidates spent" if len(tree) >= settings.max_candidates else None


def time_spent(tree: Tree, settings: Settings, elapsed_s: float) -> str | None:
    return f"{settings.max_seconds:g} s of search spent" if elapsed_s >= settings.max_seconds else None


def calls_spent(tree: Tree, settings: Settings, elapsed_s: float) -> str | None:
    """A limit of zero means that nothing is to be paid for, not that nothing is to be tried."""
    last = tree.answers[next(reversed(tree.answers))] if tree.answers else None
    if last is not None and last.message.startswith(SPENT):
        return last.message.removeprefix(SPENT)
    used = spent(tree) if tree.reserved else None
    if used and settings.max_tokens is not None and used.tokens >= settings.max_tokens:
        return f"all {settings.max_tokens} tokens spent"
    if used and settings.max_usd is not None and used.usd >= settings.max_usd:
        return f"all ${settings.max_usd:g} spent"
    return None


RULES = (candidates_spent, time_spent, calls_spent)


def stop_reason(tree: Tree, settings: Settings, elapsed_s: float) -> str | None:
    """None: go on."""
    return next((reason for rule in RULES if (reason := rule(tree, settings, elapsed_s))), None)
