"""How fast? Interleaved pairs, each on content that the candidate's process has never seen."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault, StrangeWork
from kernelevolve.evaluation.side import Side
from kernelevolve.evaluation.statistics import geometric_mean, interval, sign_interval
from kernelevolve.evaluation.stock import Feed
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Shape
from kernelevolve.model.verdict import Comparison, ShapeTiming


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Pairs per shape and restart: as many as fit into `budget_s`, within the bounds."""

    min_pairs: int
    max_pairs: int
    budget_s: float
    gives_up: bool = False
    reads_slope: bool = False


QUARANTINE = 0.03
N_SELF_PAIRS = 16
SELF_ALPHA = 0.01
"""A machine on which a baseline differs from itself by more than this (ln), beyond chance, proves nothing now."""
N_SLOPES = 5
DEVICE_SHARE = 0.4
"""Of a plan's time on a device: its clock is steadier."""
ALIKE = 2
"""Sides whose own numbers of calls a sample are within this factor make as many."""
N_ALONE = 7
SHARED_S, SHARED_SHARE = 4e-6, 0.15
"""What a call may gain from others beside it more than a baseline gains: code that is still in cache, the grain of the
clock. More than that is work done for several calls at once."""
HOPELESS = 1.3
"""A screen stops early once the candidate has been this much slower in every pair."""
PLANS = {
    "screen": Plan(min_pairs=5, max_pairs=12, budget_s=0.2, gives_up=True),
    "confirm": Plan(min_pairs=15, max_pairs=120, budget_s=2.0, reads_slope=True),
    "sealed": Plan(min_pairs=9, max_pairs=61, budget_s=1.2, reads_slope=True),
}
SLOW, N_LOOKS = 8.0, 9
"""A baseline this many times slower than the fastest one, in each of so many pairs, is timed no further: nobody is
compared with it, and it would take most of the time."""
RESTARTS = {"screen": 1, "confirm": 1, "sealed": 5}
"""Processes per claim: where memory lies differs from one to the next, and with it the speed, by per cents."""


@dataclass(kw_only=True)
class Samples:
    """Raw seconds of one shape: one list per restart, sides aligned by pair."""

    candidate: list[list[float]] = field(default_factory=list)
    slopes: list[float] = field(default_factory=list)
    alone: dict[str, list[float]] = field(default_factory=dict)
    """By side: a single call, with no other call's inputs in memory."""
    slow: set[str] = field(default_factory=set)
    """Baselines that have only their first pairs: `SLOW`."""
    baselines: dict[str, list[list[float]]] = field(default_factory=dict)


def collect(
    samples: Samples,
    candidate: Side,
    baselines: list[Side],
    feed: Feed,
    plan: Plan,
    rng: random.Random,
    timeout_s: float,
) -> None:
    """Add one restart's pairs to `samples`. Both sides of a pair get the same content. The order is drawn for every
    other pair and reversed for the next (ABBA), so that a drift hits both alike. Raises CandidateFault when a timed
    call's output is wrong."""
    candidate.calibrate(feed, timeout_s=timeout_s)
    baselines = [side for side in baselines if side.name not in samples.slow]
    if not candidate.on_device:  # a device's clock does not see anybody woken
        agree([candidate, *baselines])
    mine: list[float] = []
    theirs: dict[str, list[float]] = {side.name: [] for side in baselines}
    order: list[Side] = []
    spent_s = 0.0
    n_draws = max(side.n_draws for side in [candidate, *baselines])
    budget_s = plan.budget_s * (DEVICE_SHARE if candidate.on_device and not candidate.outside else 1.0)
    while not _enough(mine, theirs, plan, spent_s, budget_s):
        draws, slots = feed.take(n_draws), candidate.slots(rng)
        started = time.monotonic()
        order = order[::-1] if len(mine) % 2 else rng.sample([candidate, *baselines], 1 + len(baselines))
        order = [side for side in order if side.name not in samples.slow]
        round_ = {side.name: _sampled(side, candidate, draws, slots, timeout_s) for side in order}
        spent_s += time.monotonic() - started
        mine.append(round_.pop(candidate.name))
        for name, seconds in round_.items():
            theirs[name].append(seconds)
        if len(mine) == N_LOOKS:
            samples.slow |= _slow(theirs)
            baselines = [side for side in baselines if side.name not in samples.slow]
    samples.candidate.append(mine)
    if plan.reads_slope and candidate.outside:
        pass  # every call is alone already
    elif plan.reads_slope and candidate.on_device:
        _call_alone(samples, candidate, baselines, feed, rng, timeout_s)
    elif plan.reads_slope and candidate.n_calls > 1:
        samples.slopes += [_slope(candidate, feed, rng, timeout_s) for _ in range(N_SLOPES)]
    for name, seconds_list in theirs.items():
        samples.baselines.setdefault(name, []).append(seconds_list)


def agree(sides: Sequence[Side]) -> None:
    """Sides of about one speed make as many calls a sample, whatever each was found to need. Waking a process costs as
    much as a short call; shared by five calls instead of three it would pass for a gain of ten per cent. Where sides
    are further apart each keeps its own number: then their samples last as long, and lose the same share."""
    most = max(side.n_wanted for side in sides)
    for side in sides:
        side.n_calls = most if ALIKE * side.n_wanted >= most else side.n_wanted


@contextmanager
def as_request(name: str) -> Iterator[None]:
    """A kernel that the user wants to be compared with is judged as a candidate is, but nobody else answers for it.
    Raises TaskError for what is wrong with it; what the device did meanwhile is not known to be its doing."""
    try:
        yield
    except StrangeWork:
        raise
    except CandidateFault as fault:
        raise TaskError(name, [f"no baseline to compare with: {fault.outcome.value}: {fault.message}"]) from fault


def _sampled(side: Side, candidate: Side, draws: Sequence[Draw], slots: Sequence[int], timeout_s: float) -> float:
    if side is candidate:
        return side.sample(draws, slots, timeout_s=timeout_s)
    with as_request(side.name):
        return side.sample(draws, slots, timeout_s=60.0)


def _slow(theirs: dict[str, list[float]]) -> set[str]:
    fastest = min(theirs.values(), key=statistics.median, default=[])
    return {
        name for name, times in theirs.items() if all(t > SLOW * f for t, f in zip(times, fastest, strict=True))
    }  # fmt: skip


def _call_alone(
    samples: Samples, candidate: Side, baselines: list[Side], feed: Feed, rng: random.Random, timeout_s: float
) -> None:
    for index in range(N_ALONE):
        draws, slots = feed.take(1), candidate.slots(rng)
        for side in [candidate, *baselines][:: -1 if index % 2 else 1]:
            seconds = _sampled(side, candidate, draws, slots, timeout_s)
            samples.alone.setdefault(side.name, []).append(seconds)


def shared_work(samples: Samples, name: str) -> str | None:
    """What is wrong with a candidate that is fast only where other calls' inputs lie beside its own; None when nothing
    is. A kernel that computes several calls' answers at once is found here, wherever it keeps them."""
    if name not in samples.alone:
        return None
    many = {name: statistics.median(value for group in samples.candidate for value in group)}
    many |= {
        side: statistics.median(v for group in groups for v in group) for side, groups in samples.baselines.items()
    }
    alone = {side: statistics.median(seconds) for side, seconds in samples.alone.items()}
    usual = max(alone[side] - many[side] for side in many if side != name and side in alone)
    shared = alone[name] - many[name] - max(usual, 0.0)
    if shared <= SHARED_S + SHARED_SHARE * many[name]:
        return None
    return f"a call takes {alone[name] * 1e6:.1f} us alone and {many[name] * 1e6:.1f} us among others"


def _slope(side: Side, feed: Feed, rng: random.Random, timeout_s: float) -> float:
    """The second reading of the outside clock: seconds each call takes in the second half of a sample."""
    whole, half = side.n_calls, side.n_calls // 2
    long_s = side.sample(feed.take(whole + 1), side.slots(rng), timeout_s=timeout_s) * whole
    short_s = side.sample(feed.take(half), side.slots(rng), timeout_s=timeout_s) * half
    return (long_s - short_s) / (whole - half)


def _enough(
    mine: list[float], theirs: dict[str, list[float]], plan: Plan, spent_s: float, budget_s: float
) -> bool:  # fmt: skip
    if len(mine) >= plan.max_pairs or _hopeless(mine, theirs, plan):
        return True
    return len(mine) >= plan.min_pairs and spent_s >= budget_s


def _hopeless(mine: list[float], theirs: dict[str, list[float]], plan: Plan) -> bool:
    """A screen need not time to the end what has lost every pair by a wide margin."""
    if not plan.gives_up or len(mine) < 3:
        return False
    return all(
        min(m / t for m, t in zip(mine[: len(times)], times, strict=True)) > HOPELESS for times in theirs.values()
    )


def doubted_on(shapes: Sequence[Shape], level: str, restart: int) -> list[Shape]:
    """Where a machine is compared with itself before a process' pairs count: each shape once in all processes together,
    and one at least in each. On all of them every time it would take as long as the comparisons."""
    if level == "screen":
        return []
    last = max(len(shapes), RESTARTS[level])
    return [shapes[index % len(shapes)] for index in range(restart, last, RESTARTS[level])]


def self_difference(side: Side, feed: Feed, rng: random.Random) -> float:
    """A/A: the ln-ratio of a baseline with itself, in the order and by the clock of a real comparison; 0 when it is no
    more than chance."""
    logs = []
    for index in range(N_SELF_PAIRS):
        draws = feed.take(side.n_calls)
        slots = side.slots(rng)
        first, second = (side.sample(draws, slots, timeout_s=60.0) for _ in range(2))
        logs.append(math.log(first / second) * (1 if index % 2 else -1))
    low, high = sign_interval(logs, alpha=SELF_ALPHA)
    return statistics.median(logs) if low > 0 or high < 0 else 0.0


def pick_baselines(
    bench: Bench, shape: Shape, names: tuple[str, ...], level: str, *, outside: bool = False
) -> list[Side]:  # fmt: skip
    """All of them for a claim; for a screen only the fastest, the one that is hard to beat."""
    if level == "screen":
        fastest = bench.fastest(names, shape, level, outside=outside)
        return [fastest] if fastest is not None else []
    found = [bench.baseline(name, shape, level, outside=outside) for name in bench.arms(names)]
    return [side for side in found if side is not None]


def shape_timing(
    shape: Shape, samples: Samples, facts: PlatformFacts, *, n_bytes: int, seed: int, alpha: float, cold: bool = False
) -> ShapeTiming:
    mine = [value for group in samples.candidate for value in group]
    comparisons = []
    for name, groups in samples.baselines.items():
        logs = [
            [math.log(theirs / ours) for theirs, ours in zip(group, own[: len(group)], strict=True)]
            for group, own in zip(groups, samples.candidate[: len(groups)], strict=True)
        ]
        median, low, high = interval(logs, seed=seed, alpha=alpha)
        comparisons.append(
            Comparison(
                baseline=name,
                baseline_us=statistics.median(value for group in groups for value in group) * 1e6,
                candidate_us=statistics.median(mine) * 1e6,
                speedup=math.exp(median),
                low=math.exp(low),
                high=math.exp(high),
                log_ratios=tuple(round(value, 7) for group in logs for value in group),
            )  # fmt: skip
        )
    rate = _copy_rate(n_bytes, facts, cold=cold)
    return ShapeTiming(
        shape=shape, latency_us=statistics.median(mine) * 1e6, bytes_moved=n_bytes,
        slope_us=statistics.median(samples.slopes) * 1e6 if samples.slopes else None,
        floor_us=n_bytes / rate / 1e3 if rate else None, comparisons=tuple(comparisons),
    )  # fmt: skip


def combine(shapes: tuple[ShapeTiming, ...]) -> tuple[float, float, float]:
    """Geometric mean over shapes of the speed-up against each shape's best baseline, with an interval from the
    shapes' independent half-widths: root of the sum of squares over the number of shapes."""
    best = [timing.against_best for timing in shapes]
    centre = geometric_mean([math.log(item.speedup) for item in best])
    down = math.sqrt(sum(math.log(item.speedup / item.low) ** 2 for item in best)) / len(best)
    up = math.sqrt(sum(math.log(item.high / item.speedup) ** 2 for item in best)) / len(best)
    return centre, centre * math.exp(-down), centre * math.exp(up)


def _copy_rate(n_bytes: int, facts: PlatformFacts, *, cold: bool) -> float | None:
    """GB/s this amount of data can move at: cache speed when it fits the last-level cache and may be there."""
    last_level = facts.l3_bytes or (facts.l2_bytes if facts.kind == "cuda" else None)
    if not cold and last_level and n_bytes <= last_level and facts.cached_copy_gb_per_s:
        return facts.cached_copy_gb_per_s
    return facts.copy_gb_per_s
