"""What a kernel is like, by what was measured or read off its machine code: never by how its text looks."""

from __future__ import annotations

from typing import NamedTuple

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis

REGISTERS = (32.0, 64.0, 128.0)
SHARED_BYTES = (0.0, 16_384.0, 49_152.0)
"""Upper ends of the classes. Classes are few, so that a cell is hit by more than one candidate."""


class Cell(NamedTuple):
    """A place in the archive. `traits` are empty until there is a diagnosis; then `family` is: a recipe's name is what
    somebody claims, so it only stands in for what was not measured."""

    language: str
    traits: tuple[str, ...] = ()
    family: str = ""


def cell_of(candidate: Candidate, diagnosis: Diagnosis | None) -> Cell:
    if diagnosis is None:
        return Cell(language=candidate.language, family=family_of(candidate))
    return Cell(language=candidate.language, traits=_traits(diagnosis))


def family_of(candidate: Candidate) -> str:
    return candidate.origin.recipe


def _traits(diagnosis: Diagnosis) -> tuple[str, ...]:
    values: dict[str, float] = {}
    for item in diagnosis.evidence:
        values[item.name] = max(item.value, values.get(item.name, item.value))
    traits = [diagnosis.bottleneck.value]
    if "registers" in values:
        traits.append(f"registers {_class(values['registers'], REGISTERS)}")
    shared = [values[name] for name in ("static_shared_bytes", "dynamic_shared_bytes") if name in values]
    if shared:
        traits.append(f"shared {_class(sum(shared), SHARED_BYTES)}")
    if "matrix_instructions" in values:
        newer = values.get("newer_matrix_instructions", 0.0) > 0
        traits.append("newer tensor" if newer else "tensor" if values["matrix_instructions"] > 0 else "no tensor")
    return tuple(traits)


def _class(value: float, ends: tuple[float, ...]) -> int:
    return sum(value > end for end in ends)
