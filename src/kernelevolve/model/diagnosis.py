"""A Diagnosis: why a correct candidate is not faster, as a class with numbers."""

from __future__ import annotations

from enum import StrEnum

from kernelevolve.model.value import Value


class Bottleneck(StrEnum):
    AT_FLOOR = "at_floor"  # at least 90 % of what the memory system allows
    MEMORY = "memory"
    COMPUTE = "compute"
    OVERHEAD = "overhead"  # call and thread start-up dominate
    IMBALANCE = "imbalance"  # one shape lags far behind the others
    UNKNOWN = "unknown"


class Evidence(Value):
    name: str
    value: float
    unit: str
    note: str = ""


class Diagnosis(Value):
    bottleneck: Bottleneck
    evidence: tuple[Evidence, ...] = ()
    advice: str = ""
