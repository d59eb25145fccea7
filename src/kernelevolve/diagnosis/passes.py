"""A diagnosis as a graph of passes: each says what it needs and what it gives; the results are merged.

A pass that fails takes nothing down: what it would have given stays unknown, and the diagnosis says why. The order is
from cheap to dear, and a pass is asked whether a candidate needs it after what is known: who is at the floor is never
profiled, unless everything is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kernelevolve.diagnosis.found import Found, diagnose
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.profile_job import ProfileJob


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is looked at. `latency_us`: the judge's time of one call, by label, where there is one."""

    job: ProfileJob
    facts: PlatformFacts
    latency_us: Mapping[str, float] = field(default_factory=dict)
    operations: float | None = None
    operations_per_s: float | None = None
    timeout_s: float = 300.0

    def only(self, labels: Iterable[str]) -> Subject:
        kept = set(labels)
        chosen = tuple(item for item in self.job.candidates if item.label in kept)
        return replace(self, job=self.job.model_copy(update={"candidates": chosen}))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(item.label for item in self.job.candidates)


class Pass(Protocol):
    name: str
    needs: frozenset[str]
    gives: frozenset[str]

    def wants(self, so_far: Diagnosis) -> bool:
        """Whether it could still change what is thought of a candidate."""
        ...

    def run(self, subject: Subject) -> dict[str, Found]:
        """By label; a candidate may be missing. Raises MachineError and RecordError when it cannot be done."""
        ...


def start(subject: Subject) -> dict[str, Found]:
    return {
        item.label: Found(names=tuple(launch.kernel for launch in item.launches)) for item in subject.job.candidates
    }


def run_passes(passes: Sequence[Pass], subject: Subject, *, everything: bool = False) -> dict[str, Found]:
    """What is known of each candidate afterwards."""
    found = start(subject)
    given: set[str] = set()
    for item in passes:
        wanted = [label for label in subject.labels if everything or item.wants(diagnose(found[label]))]
        if not wanted:
            continue
        missing = sorted(item.needs - given)
        if missing:
            found = _noted(found, wanted, item, f"it needs {', '.join(missing)}, which nothing gave")
            continue
        try:
            results = item.run(subject.only(wanted))
        except (MachineError, RecordError, OSError) as error:
            found = _noted(found, wanted, item, str(error))
            continue
        given |= item.gives if results else set()
        for label, result in results.items():
            found[label] = found[label].with_(result)
        late = [label for label in wanted if label not in results]
        found = _noted(found, late, item, "it ended before this candidate") if late else found
    return found


def diagnoses(found: Mapping[str, Found]) -> dict[str, Diagnosis]:
    return {label: diagnose(item) for label, item in found.items()}


def _noted(found: dict[str, Found], labels: Iterable[str], item: Pass, why: str) -> dict[str, Found]:
    changed = dict(found)
    for label in labels:
        for what in sorted(item.gives):
            note = Found(names=changed[label].names, call=Facts.missing(what, f"{item.name}: {why}"))
            changed[label] = changed[label].with_(note)
    return changed
