"""A busy machine proves nothing: what speaks against ending a search, and what a search that ended so says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernelevolve.campaign.noise import QUIET, check_quiet, disturbed_lately, noisy_finish
from kernelevolve.errors import NoisyError
from kernelevolve.model.events import Closed, Confirmed, Judged
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import BUSY, Outcome, Stage, StageReport, Verdict
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import sample_candidate, sample_opened, sample_proposed, sample_verdict
from tests.campaign.parts import QUICK, CountingFarm, ListProposer, judge_by_number, numbered, run

SETTINGS = QUICK.model_copy(update={"max_candidates": 3, "n_finalists": 2})


def beside(verdict: Verdict, n_threads: float) -> Verdict:
    """The verdict, timed beside so many other threads."""
    note = f"{BUSY} {n_threads:.1f}" if n_threads else ""
    return verdict.model_copy(update={"stages": (StageReport(stage=Stage.MEASURE, seconds=1.0, note=note),)})


def tree_of(*loads: float | None) -> Tree:
    """A step each, timed beside so many others; None: a failure."""
    tree = Tree([sample_opened(SETTINGS)])
    for step, load in enumerate(loads, 1):
        tree.append(sample_proposed(step))
        right = sample_verdict(sample_candidate(step))
        verdict = sample_verdict(sample_candidate(step), outcome=Outcome.WRONG) if load is None else beside(right, load)
        tree.append(Judged(step=step, verdict=verdict, elapsed_s=step + 0.5))
    return tree


@pytest.mark.parametrize(
    ("loads", "wanted"), [((), 0.0), ((2.0,), 2.0), ((2.0, 0.0), 0.0), ((0.0, 1.5, None), 1.5), ((None,), 0.0)]
)
def test_the_latest_timed_step_says_how_busy_the_machine_is(loads: tuple[float | None, ...], wanted: float) -> None:
    tree = tree_of(*loads)
    assert disturbed_lately(tree) == wanted
    assert bool(noisy_finish(tree)) is (wanted > 0)


def test_the_doubt_names_threads_and_cost() -> None:
    doubt = noisy_finish(tree_of(1.0, 2.5))
    for part in ("2.5 other threads", "the best 2 again", "the sealed shapes", "closes the campaign for good"):
        assert part in doubt


def test_an_end_that_has_begun_goes_on() -> None:
    tree = tree_of(2.0)
    tree.append(Confirmed(step=1, verdict=beside(sample_verdict(sample_candidate(1)), 3.0), elapsed_s=9.0))
    assert noisy_finish(tree) == ""


def test_a_machine_that_has_become_quiet_is_no_longer_in_the_way() -> None:
    check_quiet("", others_now=None)
    check_quiet("doubt", others_now=lambda: QUIET)
    for now, seen in ((lambda: 1.25, "at this moment 1.2 are"), (None, "doubt. Nothing was begun")):
        with pytest.raises(NoisyError, match=seen):
            check_quiet("doubt", others_now=now)


def judge(loads: dict[str, float], speedups: dict[str, dict[int, float]]) -> Callable[[Job], Verdict]:
    plain = judge_by_number({"screen": {1: 2.0, 2: 3.0, 3: 1.5}, **speedups})

    def judged(job: Job) -> Verdict:
        return beside(plain(job), loads.get(job.level, 0.0))

    return judged


def finish(loads: dict[str, float], **speedups: dict[int, float]) -> Closed:
    farm = CountingFarm(judge(loads, speedups))
    return run(settings=SETTINGS, farm=farm, proposer=ListProposer(numbered(1, 2, 3)))[0]


def test_what_noise_may_have_decided_is_called_undecided() -> None:
    closed = finish({"confirm": 2.3}, confirm={1: 1.05, 2: 1.0})
    assert closed.winner is None
    assert closed.reason.startswith(
        "undecided: the machine was busy (2.3 other threads), intervals from 0.945 to 1.16, from 0.9 to 1.1; "
        "measure again on a quiet machine"
    )
    closed = finish({"sealed": 1.5}, sealed={2: 1.05})
    assert closed.winner is None
    assert closed.reason.startswith(
        "step 2 on the sealed shapes: undecided: the machine was busy (1.5 other threads), interval from 0.945 to 1.16;"
    )


@pytest.mark.parametrize(
    ("loads", "confirm"), [({}, {1: 1.05, 2: 1.0}), ({"confirm": 2.3}, {1: 0.8, 2: 0.7})], ids=["quiet", "slower"]
)
def test_a_quiet_machine_and_a_slow_kernel_are_not(loads: dict[str, float], confirm: dict[int, float]) -> None:
    assert finish(loads, confirm=confirm).reason.startswith("no finalist was clearly faster")


def test_on_a_busy_machine_a_clear_win_is_one() -> None:
    assert finish({"confirm": 2.3, "sealed": 2.3}).winner == 2
