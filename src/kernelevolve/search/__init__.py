"""Policies: which node to work on next. Adding one: a file with a `Policy`, a line in `POLICIES`, a `PolicyCase`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.model.events import Settings
from kernelevolve.search.base import Policy
from kernelevolve.search.fitness import make_ruler
from kernelevolve.search.memory import check_memory

POLICIES = {
    "greedy": "kernelevolve.search.greedy:GreedyPolicy",
    "beam": "kernelevolve.search.beam:BeamPolicy",
    "mcts": "kernelevolve.search.mcts:MctsPolicy",
    "uct": "kernelevolve.search.mcts:MctsPolicy",  # its name in earlier campaigns
    "islands": "kernelevolve.search.islands:IslandsPolicy",
    "portfolio": "kernelevolve.search.portfolio:PortfolioPolicy",
    "random": "kernelevolve.search.random:RandomPolicy",
}


def make_policy(name: str, settings: Settings) -> Policy:
    """Raises UnknownNameError, also for a fitness or a memory that there is not."""
    if name not in POLICIES:
        raise UnknownNameError("policy", name, tuple(POLICIES))
    make_ruler(settings.fitness)
    check_memory(settings)
    module, _, attribute = POLICIES[name].partition(":")
    return cast(Policy, getattr(import_module(module), attribute)(n_drafts=settings.n_drafts))
