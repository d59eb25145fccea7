"""Where candidates come from. Adding a proposer: a file with a `Proposer`, a line in `PROPOSERS`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.proposers.base import Proposer, Tools

PROPOSERS = {
    "agent": "kernelevolve.proposers.agent:make",
    "anthropic": "kernelevolve.proposers.llm.anthropic_api:make",
    "builtin": "kernelevolve.proposers.builtin.proposer:make",
    "command": "kernelevolve.proposers.command.proposer:make",
    "fake": "kernelevolve.proposers.fake:make",
    "mix": "kernelevolve.proposers.mix.proposer:make",
    "openai": "kernelevolve.proposers.llm.openai_api:make",
    "replay": "kernelevolve.proposers.replay:make",
    "replay_tree": "kernelevolve.proposers.replay:make_tree",
}
"""Each names a function that takes the text after the colon ("" without one) and the campaign's `Tools`."""


def make_proposer(name: str, tools: Tools | None = None) -> Proposer:
    """The proposer of this name; of "replay:FILE" the kind is replay and FILE its argument. Nothing is called or
    started yet. Raises UnknownNameError for a kind that is in no table, UsageError for a wrong argument."""
    kind, _, argument = name.partition(":")
    if kind not in PROPOSERS:
        raise UnknownNameError("proposer", kind, tuple(PROPOSERS))
    module, _, attribute = PROPOSERS[kind].partition(":")
    return cast(Proposer, getattr(import_module(module), attribute)(argument, tools or Tools()))
