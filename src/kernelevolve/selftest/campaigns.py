"""Attacks on the statistics: whole campaigns over candidates whose true speed is known, timed by a noisy clock.

The loop, the store, the intervals and the rules for a claim are the real ones; only the kernels and the machine are
made up. Each such attack is a noise model that makes some careless way of choosing see a gain where there is none.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

from pydantic import Field

from kernelevolve.campaign.journal import ALPHA
from kernelevolve.campaign.loop import run_campaign
from kernelevolve.evaluation.stages.measure import Samples, combine, shape_timing
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Confirmed, Event, Judged, Sealed, Settings
from kernelevolve.model.job import Job
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import MIN_CLAIM, Outcome, Stage, Timing, Verdict
from kernelevolve.search import make_policy
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.samples import sample_candidate, sample_opened

PAIRS = {"screen": (1, 8), "confirm": (1, 25), "sealed": (5, 15)}
"""Processes and pairs a level takes; sizes as in the real plans."""
BASE_S = 1e-3


class Noise(Value):
    """A machine and its candidates, made up. All spreads are of the natural logarithm.

    `speedups`: the true ones, one per shape, of every candidate. `spread`: of one timing. `shared`: of both timings of
    a pair together (drift). `process`: of one process against the next. `bursts`: share of time in which somebody else
    slows everything, by `burst_factor`.
    """

    n_candidates: int = 60
    speedups: tuple[float, ...] = (1.0,)
    sealed_speedups: tuple[float, ...] = Field(default=(), description="on the sealed shapes, where they differ")
    spread: float = 0.03
    shared: float = 0.0
    process: float = 0.0
    bursts: float = 0.0
    burst_factor: float = 1.3
    n_campaigns: int = Field(default=1, description="the same campaign again and again, in one store")


class NoisyMachine:
    """Gives seconds for the two sides of a pair."""

    def __init__(self, noise: Noise, rng: random.Random) -> None:
        self._noise = noise
        self._rng = rng
        self._slow = False

    def pairs(self, speedup: float, n_processes: int, n_pairs: int) -> Samples:
        samples = Samples(baselines={"eager": []})
        for _ in range(n_processes):
            process = self._rng.gauss(0.0, self._noise.process)
            both = [self._pair(speedup, process) for _ in range(n_pairs)]
            samples.candidate.append([mine for mine, _ in both])
            samples.baselines["eager"].append([theirs for _, theirs in both])
        return samples

    def _pair(self, speedup: float, process: float) -> tuple[float, float]:
        drift = self._rng.gauss(0.0, self._noise.shared)
        mine, theirs = (math.exp(drift + self._rng.gauss(0.0, self._noise.spread)) * self._burst() for _ in range(2))
        return BASE_S / speedup * mine * math.exp(process), BASE_S * theirs

    def _burst(self) -> float:
        """Contention comes in stretches, not in single samples."""
        if self._rng.random() < 0.1:
            self._slow = self._rng.random() < self._noise.bursts
        return self._noise.burst_factor if self._slow else 1.0


def timing(noise: Noise, machine: NoisyMachine, job: Job, *, one_process: bool = False) -> Timing:
    """What the real statistics make of the made-up seconds."""
    assert job.level != "check"
    n_processes, n_pairs = PAIRS[job.level]
    sealed = job.level == "sealed" and noise.sealed_speedups
    if one_process:
        n_processes, n_pairs = 1, n_processes * n_pairs
    facts = PlatformFacts(name="fake", kind="cpu")
    shapes = tuple(
        shape_timing(
            {"N": 100 + index}, machine.pairs(speedup, n_processes, n_pairs), facts, n_bytes=4096, seed=index,
            alpha=job.alpha,
        )
        for index, speedup in enumerate(noise.sealed_speedups if sealed else noise.speedups)
    )  # fmt: skip
    speedup, low, high = combine(shapes)
    return Timing(level=job.level, shapes=shapes, speedup=speedup, low=low, high=high, alpha=job.alpha)


RULES = {
    "remeasure": "a winner is measured again, on content and shapes that chose nothing",
    "fresh_process": "a claim rests on several processes",
    "minimum_claim": "a gain below one per cent is called equal",
    "most_shapes": "a winner is faster on most shapes",
    "alpha_ledger": "each use of the sealed shapes halves what the next claim may risk",
}
"""What keeps chance from winning, by name. Only tests run a campaign without one of them."""


def noisy_judge(noise: Noise, rng: random.Random, without: frozenset[str] = frozenset()) -> Callable[[Job], Verdict]:
    machine = NoisyMachine(noise, rng)

    def evaluate(job: Job) -> Verdict:
        if "alpha_ledger" in without:
            job = job.model_copy(update={"alpha": ALPHA})
        return Verdict(
            task_id=job.task.content_id, candidate_id=job.candidate.id, outcome=Outcome.CORRECT, stage=Stage.MEASURE,
            n_checks=1, timing=timing(noise, machine, job, one_process="fresh_process" in without),
        )  # fmt: skip

    return evaluate


class Numbered:
    """Proposes candidates that differ in nothing but a number."""

    name = "numbered"

    def __init__(self, n_candidates: int) -> None:
        self._numbers: Iterator[int] = iter(range(n_candidates))

    def propose(self, brief: Brief) -> list[Candidate]:
        return [sample_candidate(number) for _, number in zip(range(brief.n_wanted), self._numbers, strict=False)]


def wins(noise: Noise, *, seed: int, without: frozenset[str] = frozenset()) -> bool:
    """Whether the attack ends with a winner, in any of its campaigns. `without`: names in `RULES`."""
    rng = random.Random(seed)
    store = MemoryStore()
    settings = Settings(
        seed=seed, policy="random", proposer="numbered", platform="fake", max_candidates=noise.n_candidates,
        max_seconds=1e9, n_drafts=noise.n_candidates, baselines=("eager",),
    )  # fmt: skip
    for number in range(noise.n_campaigns):
        campaign = store.open_campaign(sample_opened(settings, time=f"2026-01-02T03:04:{number:02}+00:00"))
        closed = run_campaign(
            store=store, campaign_id=campaign, proposer=Numbered(noise.n_candidates), clock=lambda: 0.0,
            policy=make_policy("random", settings), farm=InlineFarm(noisy_judge(noise, rng, without)),
        )  # fmt: skip
        if closed.winner is not None or _loose_win(store.read(campaign), without):
            return True
    return False


def _loose_win(events: list[Event], without: frozenset[str]) -> bool:
    """What would have been claimed without some of the rules."""
    screens = [event.verdict.timing for event in events if isinstance(event, Judged) and event.verdict.timing]
    final = [event.verdict.timing for event in events if isinstance(event, Confirmed | Sealed) and event.verdict.timing]
    claims = screens if "remeasure" in without else final[-1:] if without & {"minimum_claim", "most_shapes"} else []
    floor = 1.0 if "minimum_claim" in without else MIN_CLAIM
    loose = bool(without & {"most_shapes", "minimum_claim"})
    return any(claim.low > floor and (loose or claim.wins) for claim in claims)
