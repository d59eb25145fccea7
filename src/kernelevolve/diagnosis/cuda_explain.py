"""A verdict on device code explained without a profiler: the judge's times, counted bytes, machine code at hand."""

from __future__ import annotations

from collections.abc import Sequence

from kernelevolve.diagnosis import cuda_rules
from kernelevolve.diagnosis.cuda_classes import Looked, classify
from kernelevolve.diagnosis.cuda_facts import code_facts, floor_facts
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.diagnosis.roofline import ONE_SIZE
from kernelevolve.model.diagnosis import Cause, Diagnosis, Evidence
from kernelevolve.model.kernel_facts import KernelFacts
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.verdict import ShapeTiming


def explain_device(
    shapes: Sequence[ShapeTiming], facts: PlatformFacts, *, cold: bool, code: Sequence[KernelFacts] = ()
) -> Diagnosis:
    """At the roofline when every shape is; else the shape on which most time is lost decides. `code`: the kernels of a
    call, where their machine code is at hand."""
    floors = [
        floor_facts(n_bytes=item.bytes_moved, facts=facts, cold=cold, latency_us=item.latency_us) for item in shapes
    ]
    finished = [classify(floor).cause is Cause.AT_ROOFLINE for floor in floors]
    numbers = [number for number, done in enumerate(finished) if not done] or list(range(len(shapes)))
    decisive = max(numbers, key=lambda number: _lost_us(floors[number]))
    known = floors[decisive].with_(_code(code))
    found = classify(known, Looked(scope="static" if code else "verdict"))
    where = _where(shapes[decisive])
    others = [_share(shapes[number], floors[number]) for number in range(len(shapes)) if number != decisive]
    return found.model_copy(
        update={
            "evidence": (
                *(item.model_copy(update={"note": item.note or where}) for item in found.evidence),
                *(item for item in others if item is not None),
            )
        }
    )


def _lost_us(floor: Facts) -> float:
    """Time beyond the memory floor; all of it where no floor is known."""
    return (floor.get("latency_us") or 0.0) - (floor.get("memory_floor_us") or 0.0)


def _code(kernels: Sequence[KernelFacts]) -> Facts:
    """Of several kernels nobody knows which one takes the time: only what holds for the only one is said."""
    found = Facts.of("cubin", {"n_kernels": len(kernels) or None})
    return found.with_(code_facts(kernels[0])) if len(kernels) == 1 else found


def _share(timing: ShapeTiming, floor: Facts) -> Evidence | None:
    if not floor.has("share_of_memory_floor"):
        return None
    return floor.evidence("share_of_memory_floor", threshold=cuda_rules.FLOOR_SHARE, note=_where(timing))


def _where(timing: ShapeTiming) -> str:
    return ", ".join(f"{name}={size}" for name, size in timing.shape.items()) or ONE_SIZE
