"""A proposer without ideas: numbered candidates, the same for the same seed. For tests and for trying the loop."""

from __future__ import annotations

import random

from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers.base import Tools, without_argument


def make(argument: str, tools: Tools) -> FakeProposer:
    without_argument(FakeProposer.name, argument)
    return FakeProposer()


class FakeProposer:
    """Writes language "fake": one line `value = N`, N in 0..999. A mutation moves the parent's N by at most 50, a
    crossover takes the mean of both."""

    name = "fake"

    def propose(self, brief: Brief) -> list[Candidate]:
        rng = random.Random(brief.seed)
        parents = [_value(attempt.candidate) for attempt in brief.parents]
        found: dict[str, Candidate] = {}
        for _ in range(brief.n_wanted):
            candidate = self._one(brief, parents, rng)
            found[candidate.id] = candidate
        return list(found.values())

    def _one(self, brief: Brief, parents: list[int], rng: random.Random) -> Candidate:
        if not parents:
            value, intent = rng.randrange(1000), "a new number"
        elif len(parents) == 1:
            value = min(999, max(0, parents[0] + rng.randint(-50, 50)))
            intent = f"value {parents[0]} -> {value}"
        else:
            value = sum(parents) // len(parents)
            intent = f"between {' and '.join(map(str, parents))}"
        return Candidate(
            language="fake",
            files=(SourceFile(path=f"{brief.task.entry}.fake", text=f"{brief.task.entry}\nvalue = {value}\n"),),
            origin=Origin(proposer=self.name, recipe="number", parameters={"value": str(value)}, intent=intent),
        )


def _value(candidate: Candidate) -> int:
    text = candidate.origin.parameters.get("value", "500")
    return int(text) if text.isdigit() else 500
