"""Draft, mutate and cross: from arms, parents and evidence to the next candidate."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from kernelevolve.model.brief import Attempt, Brief, Memory, Operator
from kernelevolve.model.candidate import Candidate
from kernelevolve.proposers.builtin.arm import Arm, Settings, foreign_arm, settings_of
from kernelevolve.proposers.builtin.evidence import Evidence, difference, distance
from kernelevolve.proposers.builtin.flags import from_flags
from kernelevolve.proposers.builtin.memories import Memories

HOP = 0.15
"""Share of mutations that move to another arm instead of changing a knob."""
PAIR = 0.3
"""Share of mutations that change two knobs."""
TEMPERATURE = 0.05
"""ln(speedup) by which a choice must look better to be e times as likely."""
UNTRIED = 0.10
NEIGHBOUR = 0.04
TRIES = 60
Item = TypeVar("Item")


class Moves:
    """One move's worth of choices. Candidates already in the history, or made here before, are never made again.

    A wish for a language and what is to be avoided narrow the arms, as long as those left have something new. A clean
    move knows of the past only what was made already, not how it went.
    """

    def __init__(self, brief: Brief, arms: Sequence[Arm]) -> None:
        self._brief = brief
        self._arms = list(arms)
        self._wanted = _wanted(brief, self._arms)
        self._rng = random.Random(brief.seed)
        known = [*(attempt.candidate for attempt in (*brief.history, *brief.parents)), *brief.in_flight]
        self._seen = {candidate.id for candidate in known}
        self._started = {candidate.origin.recipe for candidate in known}
        self._evidence: dict[str, Evidence] = {}

    def next(self) -> Candidate | None:
        """None when every setting of every arm has been tried."""
        parents = sorted(self._brief.parents, key=lambda parent: parent.speedup or 0.0, reverse=True)
        operator = self._brief.move.operator
        candidate = None
        if operator is Operator.CROSS and len(parents) > 1:
            candidate = self._cross(parents[0], parents[1])
        if candidate is None and operator is not Operator.DRAFT and parents:
            candidate = self._mutate(parents[0])
        if candidate is None:
            candidate = self._draft(self._wanted) or self._anything(self._wanted)
        if candidate is None and len(self._wanted) < len(self._arms):
            candidate = self._draft(self._arms) or self._anything(self._arms)
        if candidate is not None:
            self._seen.add(candidate.id)
            self._started.add(candidate.origin.recipe)
        return candidate

    def _draft(self, arms: Sequence[Arm]) -> Candidate | None:
        """Every arm once with its defaults, in order; then random settings of arms that look good."""
        for arm in arms:
            if arm.title not in self._started and (
                made := self._fresh(arm, arm.defaults(), f"{arm.short} with its defaults: {arm.summary}")
            ):
                return made
        for _ in range(TRIES if arms else 0):
            arm = self._promising(arms)
            settings = {knob.name: self._likely(arm, knob.name, knob.values) for knob in arm.knobs}
            changed = ", ".join(f"{k} {v}" for k, v in settings.items() if v != arm.defaults()[k])
            if made := self._fresh(arm, settings, f"{arm.short} with {changed or 'its defaults'}"):
                return made
        return None

    def _mutate(self, parent: Attempt) -> Candidate | None:
        arm, settings = self._place(parent)
        others = [other for other in self._wanted if other.title != arm.title]
        if not self._may_stay(arm):
            return self._leave(arm, settings, others)
        if others and self._rng.random() < HOP and (made := self._hop(arm, settings, self._promising(others))):
            return made
        memories = Memories(self._brief, arm, parent, settings)
        n_first = 2 if self._rng.random() < PAIR and len(arm.knobs) > 1 else 1
        for take_worse in (False, True) if memories.any_worse else (False,):
            for changed in self._changed(arm, settings, (n_first, 1, 2), memories):
                if memories.is_worse(settings, changed) is not take_worse:
                    continue
                if made := self._fresh(arm, changed, f"{arm.short}: {difference(settings, changed)}"):
                    return made
        for other in others:
            if made := self._hop(arm, settings, other):
                return made
        return self._anything([arm])

    def _may_stay(self, arm: Arm) -> bool:
        """Source that is not ours stays as it is, unless it is to be avoided or in another language."""
        if any(arm is other for other in self._arms):
            return any(arm is other for other in self._wanted)
        return not (self._wanted and _unwanted(arm, self._brief))

    def _leave(self, arm: Arm, settings: Settings, others: Sequence[Arm]) -> Candidate | None:
        """To another arm, with the settings both know; None, and so a draft, when that was made before."""
        if others and (made := self._hop(arm, settings, self._promising(others))):
            return made
        return next((made for other in others if (made := self._hop(arm, settings, other))), None)

    def _hop(self, arm: Arm, settings: Settings, other: Arm) -> Candidate | None:
        moved = other.complete(settings)
        kept = [f"{name} {value}" for name, value in moved.items() if settings.get(name) == value]
        intent = f"{arm.short} -> {other.short}" + (f", keeping {', '.join(kept)}" if kept else "")
        return self._fresh(other, moved, intent)

    def _cross(self, better: Attempt, other: Attempt) -> Candidate | None:
        """The better parent's arm; each knob both have is taken from either."""
        arm, settings = self._place(better)
        _, foreign = self._place(other)
        differing = [
            knob.name
            for knob in arm.knobs
            if foreign.get(knob.name) in knob.values and foreign[knob.name] != settings[knob.name]
        ]
        mixes = [set(mix) for n in range(1, len(differing) + 1) for mix in itertools.combinations(differing, n)][:512]
        self._rng.shuffle(mixes)
        for mix in mixes:
            mixed = {name: foreign[name] if name in mix else value for name, value in settings.items()}
            taken = ", ".join(f"{name} {foreign[name]}" for name in settings if name in mix)
            intent = f"{arm.short}: step {better.step} with {taken} from step {other.step}"
            if made := self._fresh(arm, mixed, intent):
                return made
        return None

    def _place(self, attempt: Attempt) -> tuple[Arm, Settings]:
        """The arm that wrote this attempt and the settings; for source that is not ours, an arm of flags."""
        for arm in self._arms:
            if (settings := settings_of(attempt, arm)) is not None:
                return arm, settings
        arm = foreign_arm(attempt.candidate, self._brief.task, self._brief.facts)
        read, _ = from_flags(attempt.candidate.flags)
        return arm, {knob.name: read[knob.name] for knob in arm.knobs}

    def _changed(
        self, arm: Arm, settings: Settings, numbers: Sequence[int], memories: Memories
    ) -> Iterator[Settings]:  # fmt: skip
        """With as many knobs changed as `numbers` say, one number after the other."""
        for number in numbers:
            yield from self._changes(arm, settings, number, memories)

    def _changes(self, arm: Arm, settings: Settings, n_changes: int, memories: Memories) -> Iterator[Settings]:
        """Settings with exactly that many knobs changed, those that look better likelier to come first."""
        evidence = self._about(arm)
        single = [(k.name, value) for k in arm.knobs for value in k.values if value != settings[k.name]]

        def merit(change: tuple[str, str]) -> float:
            name, value = change
            bonus = UNTRIED if evidence.n_tried(name, value) == 0 else 0.0
            near = NEIGHBOUR if distance(arm, name, settings[name], value) == 1 else 0.0
            return evidence.gain(settings, {**settings, name: value}) + bonus + near + memories.merit(change)

        merits = {change: merit(change) for change in single}
        sets = [
            changes
            for changes in itertools.combinations(single, n_changes)
            if len({name for name, _ in changes}) == n_changes
        ]
        for changes in self._ranked(sets, lambda changes: sum(merits[change] for change in changes)):
            yield {**settings, **dict(changes)}

    def _promising(self, arms: Sequence[Arm]) -> Arm:
        def merit(arm: Arm) -> float:
            found = self._about(arm)
            if found.best is None:
                return -1.0 if found.n_attempts else 0.0
            return found.best + UNTRIED / (1 + found.n_attempts)

        best = max(merit(arm) for arm in arms)
        weights = [math.exp((merit(arm) - best) / (2 * TEMPERATURE)) + 0.02 for arm in arms]
        return self._rng.choices(list(arms), weights)[0]

    def _likely(self, arm: Arm, knob: str, values: Sequence[str]) -> str:
        evidence = self._about(arm)
        weights = [math.exp(max(-3.0, min(3.0, evidence.effect(knob, value) / TEMPERATURE))) for value in values]
        return self._rng.choices(list(values), weights)[0]

    def _ranked(self, items: Sequence[Item], merit: Callable[[Item], float]) -> Iterator[Item]:
        """All items, drawn without replacement with chances exp(merit / temperature) (Gumbel's trick)."""
        noisy = [(merit(item) / TEMPERATURE - math.log(self._rng.expovariate(1.0)), n) for n, item in enumerate(items)]
        return (items[n] for _, n in sorted(noisy, reverse=True))

    def _fresh(self, arm: Arm, settings: Mapping[str, str], intent: str) -> Candidate | None:
        candidate = arm.candidate(settings, intent)
        return None if candidate.id in self._seen else candidate

    def _anything(self, arms: Sequence[Arm]) -> Candidate | None:
        """The first setting in order that was never tried."""
        for arm in arms:
            for values in itertools.product(*(knob.values for knob in arm.knobs)):
                settings = {knob.name: value for knob, value in zip(arm.knobs, values, strict=True)}
                if made := self._fresh(arm, settings, f"{arm.short}: one of the last settings not tried"):
                    return made
        return None

    def _about(self, arm: Arm) -> Evidence:
        if arm.title not in self._evidence:
            clean = self._brief.move.memory is Memory.CLEAN
            self._evidence[arm.title] = Evidence(arm, () if clean else self._brief.history)
        return self._evidence[arm.title]


def _wanted(brief: Brief, arms: list[Arm]) -> list[Arm]:
    """Both wishes where an arm meets both, else the language, else what is not to be avoided, else all."""
    spoken = [arm for arm in arms if not brief.move.language or arm.language == brief.move.language] or arms
    kept = [arm for arm in spoken if not _avoided(arm, brief)]
    if brief.move.language and spoken is not arms:
        return kept or spoken
    return kept or arms


def _unwanted(arm: Arm, brief: Brief) -> bool:
    return _avoided(arm, brief) or bool(brief.move.language and arm.language != brief.move.language)


def _avoided(arm: Arm, brief: Brief) -> bool:
    """By its whole name, "map_id/scalar_search", or by what follows the family."""
    return bool(arm.title) and not {arm.title, arm.short}.isdisjoint(brief.move.avoid)
