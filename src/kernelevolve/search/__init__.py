"""Policies: which node to work on next. Adding one: a file with a `Policy`, a line in `POLICIES`, a `PolicyCase`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.model.events import Settings
from kernelevolve.search.base import Policy

POLICIES = {
    "greedy": "kernelevolve.search.greedy:GreedyPolicy",
    "uct": "kernelevolve.search.uct:UctPolicy",
    "random": "kernelevolve.search.random:RandomPolicy",
}


def make_policy(name: str, settings: Settings) -> Policy:
    """Raises UnknownNameError."""
    if name not in POLICIES:
        raise UnknownNameError("policy", name, tuple(POLICIES))
    module, _, attribute = POLICIES[name].partition(":")
    return cast(Policy, getattr(import_module(module), attribute)(n_drafts=settings.n_drafts))
