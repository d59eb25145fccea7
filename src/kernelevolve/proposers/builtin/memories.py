"""What the attempts that a brief remembers say about the next change: directions that paid, values that did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelevolve.model.brief import Attempt, Brief, Memory, Role
from kernelevolve.proposers.builtin.arm import Arm, Settings, settings_of

ONWARD = 0.15
"""ln(speedup) expected of one more step in a direction that has just paid: e^3 times as likely as without."""
GAIN = 1.01
"""Times as fast from where on a change counts as a gain, and below whose inverse as a loss."""
ANCESTORS = (Role.LINEAGE, Role.OTHER_LINEAGE)
Change = tuple[str, str]
"""A knob and its new value."""


class Memories:
    """About one arm and the settings of one parent. Empty for a clean start."""

    def __init__(self, brief: Brief, arm: Arm, parent: Attempt, settings: Settings) -> None:
        self._arm, self._settings = arm, settings
        self._merits: dict[Change, float] = {}
        self._worse: set[Change] = set()
        if brief.move.memory is Memory.CLEAN:
            return
        for item in brief.remembered:
            if item.role in (Role.SIBLING, Role.FAILURE) and item.parent == parent.step:
                self._sibling(parent, item.attempt)
        line = [item.attempt for item in brief.remembered if item.role in ANCESTORS]
        before = {item.attempt.step: item.parent for item in brief.remembered}.get(parent.step)
        self._lineage([attempt for attempt in line if attempt.step == before], parent)

    def merit(self, change: Change) -> float:
        """To be added to what else speaks for it; 0 where nothing is remembered."""
        return self._merits.get(change, 0.0)

    @property
    def any_worse(self) -> bool:
        return bool(self._worse)

    def is_worse(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Whether one of the changes did worse from this very parent: such settings come last."""
        return not self._worse.isdisjoint(_changed(before, after))

    def _sibling(self, parent: Attempt, sibling: Attempt) -> None:
        """Only one changed knob tells which value it was."""
        there = settings_of(sibling, self._arm)
        changed = _changed(self._settings, there) if there is not None else []
        if len(changed) == 1 and (sibling.speedup or 0.0) * GAIN < (parent.speedup or 0.0):
            self._worse.add(changed[0])

    def _lineage(self, grandparents: Sequence[Attempt], parent: Attempt) -> None:
        """What took the parent's parent to the parent, one step further."""
        for attempt in grandparents:
            there = settings_of(attempt, self._arm)
            if there is None or not attempt.speedup or (parent.speedup or 0.0) < GAIN * attempt.speedup:
                continue
            for name, value in _changed(there, self._settings):
                further = _next_value(self._arm, name, there[name], value)
                if further is not None:
                    self._merits.setdefault((name, further), ONWARD)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    return [(name, value) for name, value in after.items() if before.get(name) != value]


def _next_value(arm: Arm, name: str, before: str, after: str) -> str | None:
    """The value beyond `after`, seen from `before`. None without an order or at its end."""
    knob = arm.knob(name)
    if knob is None or not all(value.lstrip("-").isdigit() for value in (*knob.values, before, after)):
        return None
    up = int(after) > int(before)
    beyond = [value for value in knob.values if (int(value) > int(after)) == up and int(value) != int(after)]
    return (min if up else max)(beyond, key=int, default=None)
