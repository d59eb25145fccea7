"""Where candidates come from. Adding a proposer: a file with a `Proposer`, a line in `PROPOSERS`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kernelevolve.errors import UnknownNameError, UsageError
from kernelevolve.proposers.base import Proposer

PROPOSERS = {
    "builtin": "kernelevolve.proposers.builtin.proposer:BuiltinProposer",
    "fake": "kernelevolve.proposers.fake:FakeProposer",
    "replay": "kernelevolve.proposers.replay:ReplayProposer",
}
TAKES_FILE = ("replay",)


def make_proposer(name: str) -> Proposer:
    """The proposer of this name; "replay:FILE" hands it the file. Raises UnknownNameError, UsageError."""
    kind, _, argument = name.partition(":")
    if kind not in PROPOSERS:
        raise UnknownNameError("proposer", kind, tuple(PROPOSERS))
    if bool(argument) != (kind in TAKES_FILE):
        raise UsageError(f"proposer '{kind}' " + ("takes no file" if argument else "needs a file: replay:FILE"))
    module, _, attribute = PROPOSERS[kind].partition(":")
    factory = getattr(import_module(module), attribute)
    return cast(Proposer, factory(argument) if argument else factory())
