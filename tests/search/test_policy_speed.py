"""A choice in a tree of 50,000 nodes, in passes of a plain loop over as many: a slow or busy machine slows both."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import pytest

from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis, Evidence
from kernelevolve.model.events import Diagnosed, Event, Judged, Proposed, Settings
from kernelevolve.model.verdict import Outcome
from kernelevolve.search import POLICIES, make_policy
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import sample_candidate, sample_opened, sample_verdict

N_NODES = 50_000
MAX_PASSES = 20.0
APPEND_S = 100e-6


def bushy(step: int, rng: random.Random) -> int:
    """One in ten a draft; else below a node that is more likely an early one."""
    return 0 if step == 1 or rng.random() < 0.1 else 1 + int((step - 1) * rng.random() ** 2)


def deep(step: int, rng: random.Random) -> int:
    """One long line with short side branches."""
    return max(0, step - rng.choice([1, 1, 2, 3]))


def flat(step: int, rng: random.Random) -> int:
    """Nearly all are drafts."""
    return 0 if step == 1 or rng.random() < 0.9 else rng.randrange(1, step)


def events(shape: Callable[[int, random.Random], int]) -> list[Event]:
    rng = random.Random(3)
    good = sample_verdict(sample_candidate(0))
    assert good.timing is not None
    wrong = sample_verdict(sample_candidate(0), outcome=Outcome.WRONG)
    found: list[Event] = [sample_opened(Settings(max_candidates=2 * N_NODES))]
    usable = [True]
    for step in range(1, N_NODES + 1):
        parent = shape(step, rng)
        parent = parent if usable[parent] else 0
        move = Move(operator=Operator.MUTATE, parents=(parent,)) if parent else Move(operator=Operator.DRAFT)
        candidate: Candidate = sample_candidate(step)
        candidate = candidate.model_copy(update={"language": rng.choice(["cuda", "triton", "cpp"])})
        found.append(Proposed(step=step, move=move, candidate=candidate, elapsed_s=step))
        usable.append(rng.random() < 0.7 or step == 1)
        timing = good.timing.model_copy(update={"low": rng.lognormvariate(0, 1)})
        verdict = good.model_copy(update={"timing": timing}) if usable[-1] else wrong
        found.append(Judged(step=step, verdict=verdict, elapsed_s=step))
        if usable[-1] and step % 3 == 0:
            registers = Evidence(name="registers", value=rng.randrange(16, 255), unit="1")
            diagnosis = Diagnosis(bottleneck=rng.choice(list(Bottleneck)), evidence=(registers,))
            found.append(Diagnosed(step=step, diagnosis=diagnosis))
    return found


def one_more(tree: Tree) -> None:
    step, draft = len(tree) + 1, Move(operator=Operator.DRAFT)
    tree.append(Proposed(step=step, move=draft, candidate=sample_candidate(step), elapsed_s=0))
    tree.append(Judged(step=step, verdict=sample_verdict(sample_candidate(step), speedup=1.0), elapsed_s=0))


def pass_s(tree: Tree) -> float:
    """What one pass from the children to the parents takes, in seconds of this process."""
    parents, sums = tree.index.parent, [1.0] * (len(tree) + 1)
    started = time.process_time()
    for step in range(len(tree), 0, -1):
        parent = parents[step]
        value = sums[step]
        if value:
            sums[parent] += value
    return time.process_time() - started


@pytest.mark.slow
@pytest.mark.parametrize("shape", [bushy, deep, flat])
def test_a_choice_among_fifty_thousand_nodes_is_a_few_passes_over_them(
    shape: Callable[[int, random.Random], int],
) -> None:
    history = events(shape)
    started = time.process_time()
    tree = Tree(history)
    per_event_s = (time.process_time() - started) / len(history)
    assert per_event_s < APPEND_S
    n_passes = {}
    for name in POLICIES:
        policy = make_policy(name, Settings())
        ratios = []
        for seed in range(9):
            # Something happens between two questions, so that nothing can be remembered from one to the next.
            one_more(tree)
            beside_s = pass_s(tree)
            started = time.process_time()
            assert len(policy.ask(tree, random.Random(seed), 8)) == 8
            ratios.append((time.process_time() - started) / beside_s)
        n_passes[name] = statistics.median(ratios)
    figures = ", ".join(f"{name} {ratio:.2f}" for name, ratio in n_passes.items())
    print(f"{shape.__name__}: {per_event_s * 1e6:.1f} us per event; a pass {beside_s * 1e3:.1f} ms; passes: {figures}")
    assert max(n_passes.values()) < MAX_PASSES, n_passes
