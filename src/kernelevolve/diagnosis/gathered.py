"""What the passes of a diagnosis have found out: numbers by name, and what stayed unknown and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernelevolve.model.diagnosis import Evidence, Unknown


@dataclass(frozen=True, kw_only=True)
class Fact:
    value: float
    unit: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A name that is not in `known` is unknown, and never stands for 0."""

    known: Mapping[str, Fact] = field(default_factory=dict)
    unknown: tuple[Unknown, ...] = ()

    @staticmethod
    def of(source: str, values: Mapping[str, float | None], units: Mapping[str, str] | None = None) -> Facts:
        """What is None or not finite is left out."""
        return Facts(
            known={
                name: Fact(value=float(value), unit=(units or {}).get(name, ""), source=source)
                for name, value in values.items()
                if value is not None and math.isfinite(value)
            }
        )

    @staticmethod
    def missing(what: str, why: str) -> Facts:
        return Facts(unknown=(Unknown(what=what, why=why),))

    def get(self, name: str) -> float | None:
        found = self.known.get(name)
        return found.value if found is not None else None

    def has(self, *names: str) -> bool:
        return all(name in self.known for name in names)

    def ratio(self, above: str, below: str) -> float | None:
        """None where either is unknown or the lower one is 0."""
        top, bottom = self.get(above), self.get(below)
        return top / bottom if top is not None and bottom else None

    def total(self, names: Iterable[str]) -> float | None:
        """None unless all are known: a part is no sum."""
        values = [self.get(name) for name in names]
        return math.fsum(value for value in values if value is not None) if None not in values else None

    def evidence(self, name: str, *, threshold: float | None = None, note: str = "") -> Evidence:
        """Raises KeyError for what is unknown: a rule that holds has looked."""
        fact = self.known[name]
        return Evidence(name=name, value=fact.value, unit=fact.unit, threshold=threshold, note=note, source=fact.source)

    def with_(self, other: Facts) -> Facts:
        """Both; where a name is in both, the other's."""
        return Facts(known={**self.known, **other.known}, unknown=(*self.unknown, *other.unknown))
