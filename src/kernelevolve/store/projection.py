"""What a batch of events does to the rows of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelevolve.model.events import Event, Judged, Proposed
from kernelevolve.store.base import NodeRow
from kernelevolve.store.rules import node_judged, node_of, step_needed


@dataclass(kw_only=True)
class Projection:
    """`born`: nodes the batch itself proposes, as they are at its end. `needed`: steps that must be there already,
    each with the first event that says so."""

    born: dict[int, NodeRow] = field(default_factory=dict)
    needed: dict[int, Event] = field(default_factory=dict)
    _judged: list[tuple[Judged, int]] = field(default_factory=list)

    def add(self, event: Event, seq: int) -> None:
        step = step_needed(event)
        if isinstance(event, Proposed):
            self.born[event.step] = node_of(event, seq)
        elif step is not None and step not in self.born:
            self.needed.setdefault(step, event)
            if isinstance(event, Judged):
                self._judged.append((event, seq))
        elif isinstance(event, Judged):
            self.born[event.step] = node_judged(self.born[event.step], event, seq)

    def judged_rows(self, found: Mapping[int, NodeRow]) -> list[NodeRow]:
        """The rows of older nodes as the batch leaves them, given as they were."""
        return [node_judged(found[event.step], event, seq) for event, seq in self._judged]
