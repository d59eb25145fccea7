from __future__ import annotations

from pathlib import Path

from kernelevolve.model.brief import Operator
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer
from kernelevolve.testing.proposer_case import ProposerCase, sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task


class TestFakeProposer(ProposerCase):
    resends = True  # a thousand numbers, drawn without a look at the history

    def make_proposer(self, folder: Path) -> Proposer:
        return make_proposer("fake")


def test_a_mutation_stays_near_and_a_crossover_lies_between() -> None:
    proposer, task = make_proposer("fake"), sample_task()
    drafts = [proposer.propose(sample_brief(task, seed=seed))[0] for seed in (1, 2)]
    values = [int(draft.origin.parameters["value"]) for draft in drafts]
    parents = tuple(sample_attempt(step, draft) for step, draft in enumerate(drafts, 1))
    (near,) = proposer.propose(sample_brief(task, operator=Operator.MUTATE, parents=parents[:1]))
    (between,) = proposer.propose(sample_brief(task, operator=Operator.CROSS, parents=parents))
    assert 0 < abs(int(near.origin.parameters["value"]) - values[0]) <= 50
    assert min(values) < int(between.origin.parameters["value"]) < max(values)
    assert f"value = {between.origin.parameters['value']}" in between.source
