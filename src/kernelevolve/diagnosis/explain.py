"""`explain`: a verdict and the machine's facts in, the bottleneck with its numbers out. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernelevolve.diagnosis.cuda_explain import explain_device
from kernelevolve.diagnosis.roofline import Roofline, roofline
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis, Evidence
from kernelevolve.model.kernel_facts import KernelFacts
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.verdict import ShapeTiming, Verdict

FLOOR_SHARE = 0.9
"""From this share of the memory floor on there is nothing left to win without moving fewer bytes."""
COMPUTE_SHARE = 0.25
"""Below this share memory cannot be what is waited for."""
OVERHEAD_US = 30.0
"""Calls this short consist of entering the function and waking threads."""
BUSY_THREADS, FAR_SHARE = 1.0, 0.1
"""From so many other runnable threads on, and below this share of the floor, the wait may be for a core."""
GPU_KINDS = ("cuda",)
LARGE = 100
IMBALANCE = 4.0
"""Speed-ups of two shapes this far apart are no longer one result."""


def explain(
    verdict: Verdict, facts: PlatformFacts, *, cold: bool = False, code: Sequence[KernelFacts] = ()
) -> Diagnosis | None:  # fmt: skip
    """None unless the verdict is correct and timed. `cold` and `code` are for a GPU only: whether its cache was empty,
    and the kernels' machine code where that is at hand.

    Asked in this order, the first that holds is the answer on a CPU: every shape at its memory floor; every call
    short; far above the floor on a busy machine; one shape far behind the others; no floor to compare with; far above
    the floor (compute); else memory.
    """
    if not verdict.correct or verdict.timing is None or not verdict.timing.shapes:
        return None
    shapes = verdict.timing.shapes
    if facts.kind in GPU_KINDS:
        return explain_device(shapes, facts, cold=cold, code=code)
    lines = tuple(roofline(timing, facts) for timing in shapes)
    usable = [line for line in lines if line.believable]
    complete = len(usable) == len(lines)
    evidence = tuple(item for line in lines for item in _evidence(line))
    if complete and all(_share(line) >= FLOOR_SHARE for line in usable):
        return _at_floor(min(usable, key=_share), evidence)
    if all(line.latency_us < OVERHEAD_US for line in lines):
        return _overhead(max(lines, key=lambda line: line.latency_us), evidence)
    if verdict.disturbed >= BUSY_THREADS and usable and min(map(_share, usable)) < FAR_SHARE:
        return _processor(min(usable, key=_share), verdict.disturbed, evidence)
    if spread := _imbalance(shapes, lines):
        return spread.model_copy(update={"evidence": spread.evidence + evidence})
    if not usable:
        return _unknown(lines, evidence)
    return _memory_or_compute(usable, evidence)


def _at_floor(line: Roofline, evidence: tuple[Evidence, ...]) -> Diagnosis:
    advice = (
        f"At {_share(line):.0%} of the {_place(line)} copy rate on every shape or better: only moving fewer bytes "
        "can help, so stop here."
    )
    return Diagnosis(bottleneck=Bottleneck.AT_FLOOR, evidence=evidence, advice=advice)


def _overhead(line: Roofline, evidence: tuple[Evidence, ...]) -> Diagnosis:
    limit = Evidence(
        name="longest_call", value=line.latency_us, unit="us", note=f"{line.where}; short: < {OVERHEAD_US:g}"
    )
    advice = (
        f"No call takes longer than {line.latency_us:.1f} us: run small shapes on one thread, enter at most one "
        "parallel region and allocate nothing per call."
    )
    return Diagnosis(bottleneck=Bottleneck.OVERHEAD, evidence=(limit, *evidence), advice=advice)


def _processor(line: Roofline, n_threads: float, evidence: tuple[Evidence, ...]) -> Diagnosis:
    busy = Evidence(name="other_runnable_threads", value=n_threads, unit="threads", threshold=BUSY_THREADS)
    advice = (
        f"Waiting for the processor, first of all: {n_threads:.1f} other threads were runnable while this was timed, "
        f"and {line.where} takes {about(1 / _share(line))} its memory floor, so measure again on a quiet machine "
        "before changing the kernel."
    )
    return Diagnosis(bottleneck=Bottleneck.PROCESSOR, evidence=(busy, *evidence), advice=advice)


def about(ratio: float) -> str:
    """A ratio to two significant digits: "1.3x", "47x"; larger ones in words: "over 100x", "over 1000x"."""
    if ratio < LARGE:
        text = f"{ratio:.2g}x"
        return text if "e+" not in text else f"over {LARGE}x"
    return f"over {10 ** int(math.log10(ratio) + 1e-9)}x" if math.isfinite(ratio) else f"over {LARGE}x"


def _imbalance(shapes: tuple[ShapeTiming, ...], lines: tuple[Roofline, ...]) -> Diagnosis | None:
    """Only shapes with a baseline can be compared, and only where noise does not make the difference."""
    compared = [(timing, line) for timing, line in zip(shapes, lines, strict=True) if timing.comparisons]
    gains = [(timing.against_best.speedup, line) for timing, line in compared]
    if len(gains) < 2:
        return None
    lowest, highest = min(gains, key=lambda gain: gain[0]), max(gains, key=lambda gain: gain[0])
    if lowest[0] <= 0 or highest[0] / lowest[0] <= max(IMBALANCE, *(_width(timing) for timing, _ in compared)):
        return None
    evidence = (
        Evidence(name="speedup_spread", value=highest[0] / lowest[0], unit="x", note=f"above {IMBALANCE:g} is uneven"),
        Evidence(name="lowest_speedup", value=lowest[0], unit="x", note=lowest[1].where),
        Evidence(name="highest_speedup", value=highest[0], unit="x", note=highest[1].where),
    )
    advice = (
        f"{lowest[1].where} gains {about(lowest[0])} where {highest[1].where} gains {about(highest[0])}: give the slow "
        "shape a path of its own."
    )
    return Diagnosis(bottleneck=Bottleneck.IMBALANCE, evidence=evidence, advice=advice)


def _width(timing: ShapeTiming) -> float:
    """How many times the upper end of a shape's interval is the lower one."""
    found = timing.against_best
    return found.high / found.low if found.low > 0 else math.inf


def _unknown(lines: tuple[Roofline, ...], evidence: tuple[Evidence, ...]) -> Diagnosis:
    if any(line.share is not None for line in lines):
        advice = (
            "Faster than the counted bytes at the measured copy rate allow: the operator touches less than it is "
            "given, or the rate is too low, so measure this machine again while it is idle."
        )
    else:
        advice = "The machine's copy rates or cache sizes are not known: measure them before comparing with a floor."
    return Diagnosis(bottleneck=Bottleneck.UNKNOWN, evidence=evidence, advice=advice)


def _memory_or_compute(usable: list[Roofline], evidence: tuple[Evidence, ...]) -> Diagnosis:
    """The shape that takes longest decides: most of the time is spent there."""
    line = max(usable, key=lambda item: item.latency_us)
    share = _share(line)
    if share < COMPUTE_SHARE:
        advice = (
            f"{line.where} takes {about(1 / share)} its memory floor: the arithmetic or its latency is what counts, so "
            "vectorise, keep more independent work in flight or use both operands from registers."
        )
        return Diagnosis(bottleneck=Bottleneck.COMPUTE, evidence=evidence, advice=advice)
    advice = (
        f"{line.where} moves data at {share:.0%} of the {_place(line)} copy rate: fuse passes, read each byte once "
        "and write large results past the cache."
    )
    return Diagnosis(bottleneck=Bottleneck.MEMORY, evidence=evidence, advice=advice)


def _evidence(line: Roofline) -> list[Evidence]:
    items = [
        Evidence(name="latency", value=line.latency_us, unit="us", note=line.where),
        Evidence(name="bytes_moved", value=float(line.n_bytes), unit="B", note=f"{line.where}; in {line.residence}"),
    ]
    if line.floor_us is not None and line.share is not None and line.rate_gb_per_s is not None:
        note = f"{line.where}; {line.rate_gb_per_s:.3g} GB/s in {line.residence}"
        items.append(Evidence(name="memory_floor", value=line.floor_us, unit="us", note=note))
        doubt = "" if line.believable else "; above 1: the floor does not hold"
        items.append(Evidence(name="share_of_floor", value=line.share, unit="1", note=line.where + doubt))
    return items


def _share(line: Roofline) -> float:
    return line.share if line.share is not None else 0.0


def _place(line: Roofline) -> str:
    return "cache" if line.residence == "cache" else "memory"
