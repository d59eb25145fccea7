"""Sizes in two forms at once: as C++ text, and as numbers for two made-up shapes.

Whether two symbolic sizes are the same is decided by the numbers: axes get distinct primes, so that equal values for
both shapes mean equal expressions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernelevolve.model.task import Task, TensorSpec, evaluate_dim

_PRIMES = (
    103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181,
    191, 193, 197, 199, 211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271,
)  # fmt: skip


_FUNCTIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "max": max, "min": min,
}  # fmt: skip


@dataclass(frozen=True)
class Size:
    text: str
    samples: tuple[int, int]

    def same(self, other: Size) -> bool:
        return self.samples == other.samples

    @property
    def constant(self) -> int | None:
        return int(self.text) if self.text.lstrip("-").isdigit() else None

    def __mul__(self, other: Size) -> Size:
        if self.constant == 1:
            return other
        if other.constant == 1:
            return self
        return combine("*", self, other)


def number(value: int) -> Size:
    return Size(str(value), (value, value))


def combine(name: str, left: Size, right: Size) -> Size:
    """Raises ZeroDivisionError for a division by a size that is 0."""
    function = _FUNCTIONS[name]
    first, second = (function(a, b) for a, b in zip(left.samples, right.samples, strict=True))
    if name in ("max", "min"):
        text = f"std::{name}<int64_t>({left.text}, {right.text})"
    elif name == "//":
        text = f"ke::floor_divide({left.text}, {right.text})"
    elif name == "%":
        text = f"({left.text} - {right.text} * ke::floor_divide({left.text}, {right.text}))"
    else:
        text = f"({left.text} {name} {right.text})"
    if left.constant is not None and right.constant is not None:
        text = str(first)
    return Size(text, (first, second))


def product(sizes: Sequence[Size]) -> Size:
    result = number(1)
    for size in sizes:
        result = result * size
    return result


def contiguous(sizes: Sequence[Size]) -> tuple[Size, ...]:
    """Strides of a row-major tensor."""
    strides = [number(1)]
    for size in reversed(sizes[1:]):
        strides.insert(0, size * strides[0])
    return tuple(strides) if sizes else ()


def is_contiguous(sizes: Sequence[Size], strides: Sequence[Size]) -> bool:
    return all(
        size.constant == 1 or stride.same(wanted)
        for size, stride, wanted in zip(sizes, strides, contiguous(sizes), strict=True)
    )


class TaskSizes:
    """The sizes of a task's tensors."""

    def __init__(self, task: Task) -> None:
        self._samples: list[Mapping[str, int]] = []
        for skip in (0, 1):
            primes = _PRIMES[skip::2] if skip == 0 else tuple(reversed(_PRIMES[skip::2]))
            self._samples.append(
                {
                    axis.name: axis.low
                    if axis.role == "shape" and axis.low == axis.high
                    else primes[index % len(primes)] * axis.multiple_of + 2 * axis.multiple_of * (index // len(primes))
                    for index, axis in enumerate(task.axes)
                }
            )

    def of(self, spec: TensorSpec) -> tuple[Size, ...]:
        return tuple(self.of_dim(dim) for dim in spec.dims)

    def of_dim(self, dim: str) -> Size:
        first, second = (evaluate_dim(dim, samples) for samples in self._samples)
        return Size(dim if dim.isidentifier() or dim.isdigit() else f"({dim})", (first, second))
