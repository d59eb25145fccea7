"""`mix:A,B,...`: each question goes to the proposer that the bandit picks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelevolve.errors import KernelEvolveError, MachineError, ProposerError, RecordError, SpentError, UsageError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Ledger, Proposer, Tools, Usage
from kernelevolve.proposers.mix.bandit import choose

SERIOUS = (MachineError, RecordError, SpentError)
"""When nothing came at all, the first of these is what the campaign has to hear, in this order."""


def make(argument: str, tools: Tools) -> MixProposer:
    """Raises UsageError for fewer than two proposers, for the same one twice, and for a mix within a mix."""
    texts = [text.strip() for text in argument.split(",")]
    if len(texts) < 2 or not all(texts):
        raise UsageError("proposer 'mix' needs at least two others with a comma between: mix:builtin,openai:MODEL")
    for text in texts:
        if text.partition(":")[0] == MixProposer.name:
            raise UsageError(f"a mix cannot be part of a mix: '{text}'; write all proposers into one")
        if texts.count(text) > 1:
            raise UsageError(f"proposer '{text}' is in the mix twice")
    ledgers = [LabelledLedger(tools.ledger) for _ in texts]
    made = [make_proposer(text, replace(tools, ledger=ledger)) for text, ledger in zip(texts, ledgers, strict=True)]
    names = [proposer.name for proposer in made]
    labels = [text if names.count(name) > 1 else name for text, name in zip(texts, names, strict=True)]
    for ledger, label in zip(ledgers, labels, strict=True):
        ledger.label = label
    return MixProposer(dict(zip(labels, made, strict=True)), tools)


class MixProposer:
    """Candidates carry the name of the proposer they came from, for that is how its next choice is made. One that
    fails, cannot pay, or has nothing is left out of the question, and named; those after it stand in for it."""

    name = "mix"

    def __init__(self, proposers: dict[str, Proposer], tools: Tools) -> None:
        self._proposers = proposers
        self._say = tools.say

    def propose(self, brief: Brief) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        failures: list[tuple[str, KernelEvolveError]] = []
        owed = 0
        for name, share in choose(brief, tuple(self._proposers)).items():
            owed += share
            if not owed:
                continue
            before = len(found)
            known = (*brief.in_flight, *found.values())
            question = brief.model_copy(update={"n_wanted": owed, "in_flight": known})
            try:
                for candidate in self._proposers[name].propose(question)[:owed]:
                    found.setdefault(candidate.id, _named(candidate, name))
            except (ProposerError, *SERIOUS) as error:
                failures.append((name, error))
                self._say(f"mix: {name} is left out of question {brief.ask}: {error}")
            owed -= len(found) - before
        if not found:
            self._raise(failures)
        return list(found.values())

    def _raise(self, failures: Sequence[tuple[str, KernelEvolveError]]) -> None:
        """Nothing, when some proposer is fine and has no more to offer."""
        for kind in SERIOUS:
            for _, error in failures:
                if isinstance(error, kind):
                    raise error
        if len(failures) == len(self._proposers):
            raise ProposerError("; ".join(f"{name}: {error}" for name, error in failures))


class LabelledLedger:
    """Books every call under the name of its proposer in the mix, so that its cost is found again."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.label = ""

    def answer(self, request: str) -> str | None:
        return self._ledger.answer(request)

    def reserve(self, *, ask: int, model: str, request: str, tokens: int, usd: float | None) -> int:
        return self._ledger.reserve(ask=ask, model=self.label or model, request=request, tokens=tokens, usd=usd)

    def settle(self, call: int, usage: Usage) -> None:
        self._ledger.settle(call, usage)


def _named(candidate: Candidate, name: str) -> Candidate:
    if candidate.origin.proposer == name:
        return candidate
    return candidate.model_copy(update={"origin": candidate.origin.model_copy(update={"proposer": name})})
