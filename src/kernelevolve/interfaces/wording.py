"""How numbers, shapes and rules are put into words, the same in the terminal, the report and the export."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Rule, Shape, Task
from kernelevolve.model.verdict import Comparison, Timing

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
BASELINE_TITLES = {
    "eager": "PyTorch eager", "compile": "torch.compile", "compile-max-autotune": "torch.compile max-autotune",
    "eager+tf32": "PyTorch eager, TF32", "compile+tf32": "torch.compile, TF32",
}  # fmt: skip


def printable(text: str, limit: int | None = None) -> str:
    """Safe to print or embed: control characters, text-direction marks and lone surrogates are replaced."""
    clean = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
    return clean if limit is None or len(clean) <= limit else clean[: limit - 1] + "…"


def one_line(text: str, limit: int | None = None) -> str:
    return printable(" ".join(text.split()), limit)


def times(value: float) -> str:
    """A speed-up: three significant digits and the sign, 12.3×."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}×"


def interval(low: float, high: float) -> str:
    return f"{times(low)[:-1]}–{times(high)[:-1]}"


def microseconds(value_us: float) -> str:
    if value_us < 1000:
        return f"{value_us:.3g} µs"
    return f"{value_us / 1000:.3g} ms" if value_us < 1e6 else f"{value_us / 1e6:.3g} s"


def duration(value_s: float) -> str:
    seconds = round(value_s)
    if seconds < 60:
        return f"{value_s:.1f} s" if value_s < 10 else f"{seconds} s"
    return (
        f"{seconds // 60} min {seconds % 60:02d} s"
        if seconds < 3600
        else f"{seconds // 3600} h {seconds // 60 % 60:02d} min"
    )


def shape_text(shape: Shape) -> str:
    return " ".join(f"{name}={size}" for name, size in shape.items()) or "no axes"


def baseline_title(name: str) -> str:
    return BASELINE_TITLES.get(name, one_line(name, 60))


LANES = {
    "device_code": "device code: only the kernel is the candidate's, our own code calls it",
    "host": "host: the candidate's own host code runs in the sandbox",
}


def rule_text(rule: Rule) -> str:
    if rule.kind == "bitwise":
        return "bitwise: every byte equal to the reference"
    if rule.kind == "allclose":
        return f"every element within {rule.rtol:g}·(1 + |oracle|) of an oracle computed in float64"
    parts = [f"{rule.rtol:g}·|oracle|"] * bool(rule.rtol) + [f"{rule.rms:g}·RMS(oracle)"] * bool(rule.rms)
    return f"every element within {' + '.join(parts)} of an oracle computed in float64"


def domain_text(task: Task) -> str:
    """The shapes a kernel of this task must be right for."""
    parts = []
    for axis in task.axes:
        if axis.role == "shape":
            step = f", multiple of {axis.multiple_of}" if axis.multiple_of > 1 else ""
            parts.append(
                f"{axis.name} {axis.low}..{axis.high}{step}" if axis.high < 2**40 else f"{axis.name} ≥ {axis.low}{step}"
            )
    for spec in task.pitched:
        axis = task.axis(spec.pitch)
        step = f", or a multiple of {axis.multiple_of} above it" if axis.multiple_of > 1 else ""
        parts.append(f"{axis.name} {'=' if step else '≥'} a row of {spec.name}{step}")
    return "; ".join(parts) or "no shape axes"


def bytes_text(n_bytes: int | None) -> str:
    if n_bytes is None:
        return "not known"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} B"


def facts_rows(facts: PlatformFacts) -> list[tuple[str, str]]:
    """What is known of the machine, as (name, value)."""
    rows = [
        ("machine", one_line(facts.model or facts.name)),
        ("cores", str(facts.n_cores)),
        ("instruction sets", " ".join(facts.isa) or "baseline"),
        (
            "caches L1d / L2 / L3",
            " / ".join(bytes_text(size) for size in (facts.l1d_bytes, facts.l2_bytes, facts.l3_bytes)),
        ),
        ("memory", bytes_text(facts.memory_bytes)),
    ]
    measured = (
        ("copy rate, memory", facts.copy_gb_per_s, "GB/s"),
        ("copy rate, cache", facts.cached_copy_gb_per_s, "GB/s"),
        ("arithmetic, float32", facts.fma_gflop_per_s, "GFLOP/s"),
    )
    rows += [(name, f"{value:.0f} {unit}, measured") for name, value, unit in measured if value is not None]
    return [*rows, *(("compiler", one_line(compiler)) for compiler in facts.compilers)]


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def comparisons_with(timing: Timing, baseline: str) -> list[Comparison]:
    return [found for shape in timing.shapes for found in shape.comparisons if found.baseline == baseline]


def mean_speedup(timing: Timing, baseline: str) -> float:
    """Geometric mean over shapes against one baseline."""
    return geometric_mean(found.speedup for found in comparisons_with(timing, baseline))


SPARKS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float], width: int = 32) -> str:
    """At most `width` blocks over the log of the values."""
    if not values:
        return ""
    picked = (
        values if len(values) <= width else [values[index * (len(values) - 1) // (width - 1)] for index in range(width)]
    )
    logs = [math.log(max(value, 1e-9)) for value in picked]
    low, span = min(logs), max(max(logs) - min(logs), 1e-9)
    return "".join(SPARKS[round((value - low) / span * (len(SPARKS) - 1))] for value in logs)


def disturbance_text(n_threads: float) -> str:
    return (
        f"{n_threads:.1f} other threads were running on average while this was timed: measure again on a quiet machine"
    )
