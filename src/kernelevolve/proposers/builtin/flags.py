"""Compiler flags as knobs that every arm has. The default value of each adds no flag to the toolchain's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.proposers.builtin.recipe import Knob

# Everything in -ffast-math that keeps infinities, NaN and denormals as they are: a kernel that is right stays right
# up to rounding.
_RELAXED = (
    "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math", "-freciprocal-math",
)  # fmt: skip
FLAGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "opt": {"O3": (), "O2": ("-O2",)},
    "width": {"auto": (), "512": ("-mprefer-vector-width=512",), "256": ("-mprefer-vector-width=256",)},
    "math": {"exact": (), "quiet": _RELAXED[:2], "relaxed": _RELAXED},
    "unroll": {"no": (), "yes": ("-funroll-loops",)},
}


def flag_knobs(task: Task, facts: PlatformFacts, *, fast_math: bool = True) -> tuple[Knob, ...]:
    """The flag knobs that make sense: vector width where there is a choice, relaxed rounding where it is allowed."""
    may_round = fast_math and task.rule.kind == "scaled"
    knobs = []
    for name, choices in FLAGS.items():
        if name == "width" and "avx512f" not in facts.isa:
            continue
        values = [value for value in choices if may_round or value != "relaxed"]
        knobs.append(Knob(name=name, values=tuple(values)))
    return tuple(knobs)


def to_flags(settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(flag for name, choices in FLAGS.items() if name in settings for flag in choices[settings[name]])


def from_flags(flags: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Settings that give these flags, and the flags that are no knob's business: `to_flags(settings) + rest`
    means the same to the compiler."""
    settings: dict[str, str] = {}
    used: set[str] = set()
    for name, choices in FLAGS.items():
        best = max(
            (value for value, wanted in choices.items() if set(wanted) <= set(flags)),
            key=lambda value: len(choices[value]),
        )
        settings[name] = best
        used |= set(choices[best])
    return settings, tuple(flag for flag in flags if flag not in used)
