"""When a search counts as stalled: no new best for a part of its budget."""

from __future__ import annotations

import math

from kernelevolve.model.events import Settings
from kernelevolve.search.tree import Tree

SHARE = 0.12
MIN_WINDOW = 8


def window_of(settings: Settings) -> int:
    """Attempts without a new best that make a stall: 12 % of the budget, 8 at least."""
    return max(MIN_WINDOW, math.ceil(SHARE * settings.max_candidates))


def stalled_for(tree: Tree) -> int:
    """Attempts begun since the stall did; below zero while there is none."""
    settings = tree.opened.settings if tree.opened else Settings()
    return tree.stall - window_of(settings)


def is_stalled(tree: Tree) -> bool:
    return tree.n_usable > 0 and stalled_for(tree) >= 0


def used_share(tree: Tree) -> float:
    """Share of the budget of candidates that is used. Time used is no measure here: a campaign that was interrupted
    has used another amount of it, and would go on another way."""
    settings = tree.opened.settings if tree.opened else Settings()
    return min(1.0, tree.n_started / settings.max_candidates)
