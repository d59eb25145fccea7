"""Which proposer to ask next: Thompson sampling on ranks per unit of cost.

Everything follows from the brief: nothing is kept between questions, so a resumed campaign and a fresh process choose
alike. An attempt is credited to the proposer that its origin names.

Reward of an attempt, in 0..1: its place among all correct attempts by gain over its parent (a start's gain is over
the baseline, and starts are compared with starts only). Ranks, so that no scale of speed-ups matters. A failure, a
repeat, and a paid call that brought no candidate have reward 0. Older attempts count less, because what a proposer
can still bring changes as the kernels get better.

Price: a candidate costs one unit whoever wrote it, for it has to be judged; paid calls come on top, the dearest
proposer's with one unit more for each candidate and the others' in proportion. Counted in dollars where all their
prices are known, else in tokens.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kernelevolve.model.brief import Attempt, Brief, Spent

FADING = 0.97
"""Weight of an attempt, to the power of the number of attempts after it: the last few dozen count."""
MOST_EMPTY = 20
"""Calls without a candidate count up to here: a proposer that was broken for a night gets another chance."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """`won` and `lost` are weighted sums of rewards and of what was missing to 1; `price` is in 1..2."""

    name: str
    won: float
    lost: float
    price: float
    tried: bool

    def draw(self, rng: random.Random) -> float:
        return rng.betavariate(1.0 + self.won, 1.0 + self.lost) / self.price


def standings(brief: Brief, names: Sequence[str]) -> list[Standing]:
    """One for each name, in their order. All numbers are finite, whatever the history says."""
    won = dict.fromkeys(names, 0.0)
    lost = dict.fromkeys(names, 0.0)
    for age, (attempt, reward) in enumerate(
        zip(reversed(brief.history), reversed(_rewards(brief.history)), strict=True)
    ):
        if (name := attempt.candidate.origin.proposer) in won:
            weight = FADING**age
            won[name] += weight * reward
            lost[name] += weight * (1.0 - reward)
    candidates = [*(attempt.candidate for attempt in brief.history), *brief.in_flight]
    n_brought = Counter(candidate.origin.proposer for candidate in candidates)
    spent = {item.name: item for item in brief.spent if item.name in won}
    prices = _prices(spent, n_brought)
    for name, item in spent.items():
        lost[name] += min(MOST_EMPTY, max(0, item.n_calls - n_brought[name]))
    return [
        Standing(
            name=name, won=won[name], lost=lost[name], price=prices.get(name, 1.0),
            tried=n_brought[name] > 0 or name in spent,
        )
        for name in names
    ]  # fmt: skip


def choose(brief: Brief, names: Sequence[str]) -> dict[str, int]:
    """How many candidates to ask each for, in the order to ask. All names are there, those with 0 to stand in when
    others bring less than was asked of them. Who was never tried comes first."""
    rng = random.Random(f"mix {brief.seed}")
    table = standings(brief, names)
    untried = [standing.name for standing in table if not standing.tried]
    rng.shuffle(untried)
    chosen = untried[: brief.n_wanted]
    ranked: list[str] = list(names)
    while not ranked or len(chosen) < brief.n_wanted:
        ranked = _ranked(table, rng)
        chosen.append(ranked[0])
    order = dict.fromkeys([*chosen, *untried, *_ranked(table, rng)])
    shares = Counter(chosen)
    return {name: shares[name] for name in order}


def _ranked(table: Sequence[Standing], rng: random.Random) -> list[str]:
    draws = [(standing.draw(rng), standing.name) for standing in table]
    return [name for _, name in sorted(draws, key=lambda draw: -draw[0])]


def _rewards(history: Sequence[Attempt]) -> list[float]:
    seen: set[str] = set()
    gains: list[float | None] = []
    for attempt in history:
        gains.append(None if attempt.candidate.id in seen else _gain(attempt))
        seen.add(attempt.candidate.id)
    ranked = {
        is_start: sorted(
            gain
            for gain, attempt in zip(gains, history, strict=True)
            if gain is not None and _is_start(attempt) is is_start
        )
        for is_start in (True, False)
    }
    return [
        0.0 if gain is None else _rank(gain, ranked[_is_start(attempt)])
        for gain, attempt in zip(gains, history, strict=True)
    ]


def _is_start(attempt: Attempt) -> bool:
    return not attempt.parent_speedup


def _gain(attempt: Attempt) -> float | None:
    """ln of the ratio to the parent, or to the baseline; None for a failure."""
    if not attempt.speedup or attempt.speedup < 0:
        return None
    before = attempt.parent_speedup if attempt.parent_speedup and attempt.parent_speedup > 0 else 1.0
    return math.log(attempt.speedup) - math.log(before)


def _rank(gain: float, ranked: Sequence[float]) -> float:
    """In (0, 1): the share below, ties counted half."""
    return (bisect_left(ranked, gain) + bisect_right(ranked, gain)) / (2 * len(ranked))


def _prices(spent: dict[str, Spent], n_brought: Counter[str]) -> dict[str, float]:
    in_dollars = all(item.usd is not None for item in spent.values())
    costs = {
        name: (item.usd or 0.0 if in_dollars else float(item.tokens)) / max(1, n_brought[name])
        for name, item in spent.items()
    }
    dearest = max(costs.values(), default=0.0)
    return {name: 1.0 + cost / dearest if dearest > 0 else 1.0 for name, cost in costs.items()}
