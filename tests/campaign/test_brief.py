from __future__ import annotations

from kernelevolve.campaign.brief import BriefWriter
from kernelevolve.model.brief import Brief, Move, Operator
from kernelevolve.model.events import Event, Judged
from kernelevolve.model.task import ShapeSets
from kernelevolve.model.verdict import Mismatch, Outcome
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
    sample_verdict,
)
from tests.campaign.parts import QUICK, ListProposer, numbered, run

MUTATE = Move(operator=Operator.MUTATE, parents=(1,))


def write(events: list[Event], move: Move = MUTATE) -> Brief:
    opened = sample_opened(QUICK)
    tree = Tree([opened, *events])
    return BriefWriter(opened=opened, tree=tree).write(move, step=len(tree) + 1, attempt=0, n_wanted=1)


def test_a_brief_tells_parents_and_history() -> None:
    brief = write(
        [
            sample_proposed(1),
            sample_judged(1, speedup=2.0),
            sample_proposed(2, move=MUTATE),
            sample_judged(2, speedup=3.0),
            sample_proposed(3),
            sample_judged(3, outcome=Outcome.CRASHED),
            sample_proposed(4),
        ],
        Move(operator=Operator.CROSS, parents=(2, 1)),
    )
    assert [attempt.step for attempt in brief.parents] == [2, 1]
    assert [attempt.step for attempt in brief.history] == [1, 2, 3]
    assert (brief.history[1].speedup, brief.history[1].parent_speedup) == (3.0, 2.0)
    assert (brief.history[2].outcome, brief.history[2].message) == (Outcome.CRASHED, "sample crashed")
    assert brief.remaining == QUICK.max_candidates - 4


def test_hidden_shapes_are_told_nowhere() -> None:
    mismatch = Mismatch(tensor="out", shape={"N": 4099}, n_wrong=7, n_total=4099, got="1.5", expected="3.0")
    message = "wrong at N=4099, {'N': 4099}, N = 7013; fine at N=100"
    verdict = sample_verdict(sample_candidate(1), outcome=Outcome.WRONG)
    verdict = verdict.model_copy(update={"mismatch": mismatch, "message": message})
    brief = write([sample_proposed(1), Judged(step=1, verdict=verdict, elapsed_s=1.0)])
    assert brief.task.shapes == ShapeSets(shown=({"N": 100},))
    told = brief.history[0].message
    assert "N=4099" not in told
    assert "7013" not in told
    assert "N=100" in told
    assert "out: 7 of" in told
    assert "got 1.5, expected 3.0" in told


def test_seeds_depend_on_the_campaign_and_the_step_only() -> None:
    opened = sample_opened(QUICK)

    def seed(step: int, attempt: int = 0) -> int:
        writer = BriefWriter(opened=opened, tree=Tree([opened]))
        return writer.write(Move(operator=Operator.DRAFT), step=step, attempt=attempt, n_wanted=1).seed

    assert seed(1) == seed(1)
    assert len({seed(1), seed(2), seed(1, 1), seed(2, 1)}) == 4


def test_first_drafts_share_a_brief_so_that_they_can_differ() -> None:
    proposer = ListProposer(numbered(*range(1, 31)))
    run(proposer=proposer)
    assert proposer.briefs[0].n_wanted == 2
    assert proposer.briefs[0].move.operator is Operator.DRAFT
    assert [brief.remaining for brief in proposer.briefs[:2]] == [30, 28]
