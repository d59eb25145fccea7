"""Shape paths: a part of a task's domain as a task of its own.

`B=1,K=128` pins axes, `B=1..4` and `B>=16` bound them. A narrowed task asks for fewer shapes, so its kernels may be
faster; which calls they serve is decided by the same `Where`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from pydantic import Field

from kernelevolve.errors import UsageError
from kernelevolve.model.task import Axis, Shape, ShapeSets, Task
from kernelevolve.model.value import Value, canonical_json, sha256_text

_NO_LIMIT = 2**40
_ITEM = re.compile(r"(?P<axis>[A-Za-z_]\w*)(?P<sign>=|<=|>=|<|>)(?P<low>\d+)(?:\.\.(?P<high>\d+))?", re.ASCII)
_FORMS = "AXIS=SIZE, AXIS=LOW..HIGH, AXIS>=SIZE, AXIS<=SIZE"


class Bound(Value):
    """The sizes low..high of one axis; `high` None: no upper end."""

    axis: str
    low: int = Field(default=0, ge=0)
    high: int | None = None

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.axis}>={self.low}"
        if self.low == self.high:
            return f"{self.axis}={self.low}"
        return f"{self.axis}={self.low}..{self.high}" if self.low else f"{self.axis}<={self.high}"


class Where(Value):
    """At most one bound per axis; no bound at all admits every shape."""

    bounds: tuple[Bound, ...] = ()

    def __str__(self) -> str:
        return ",".join(map(str, self.bounds))

    @staticmethod
    def parse(text: str) -> Where:
        """Several bounds on one axis must all hold. Raises UsageError."""
        found: dict[str, Bound] = {}
        for item in filter(None, (part.replace(" ", "") for part in text.split(","))):
            bound = _bound(item)
            found[bound.axis] = _both(found.get(bound.axis, Bound(axis=bound.axis)), bound)
        return Where(bounds=tuple(found.values()))

    def and_also(self, other: Where) -> Where:
        """Raises UsageError when no shape is left."""
        return Where.parse(f"{self},{other}")

    def admits(self, sizes: Mapping[str, int]) -> bool:
        return all(
            bound.low <= sizes[bound.axis] <= (_NO_LIMIT if bound.high is None else bound.high) for bound in self.bounds
        )


def narrowed(task: Task, where: Where) -> Task:
    """The same operator asked for fewer shapes: another task, which remembers `where`. Raises UsageError when an axis
    cannot be narrowed, or when no shown shape is left."""
    axes = {axis.name: axis for axis in task.axes}
    for bound in where.bounds:
        axes[bound.axis] = _narrowed_axis(task, bound)
    kept = {
        bucket: tuple(shape for shape in getattr(task.shapes, bucket) if where.admits(shape))
        for bucket in ShapeSets.model_fields
    }
    if not kept["shown"]:
        shown = "; ".join(_text(shape) for shape in task.shapes.shown)
        raise UsageError(
            f"where {where}: no shown shape of {task.name} is left ({shown}); add one that fits to shapes.shown"
        )
    together = Where.parse(task.where).and_also(where)
    update = {"axes": tuple(axes.values()), "shapes": ShapeSets(**kept), "where": str(together)}
    return Task.model_validate({**{name: getattr(task, name) for name in Task.model_fields}, **update})


def operator_id(task: Task) -> str:
    """What tasks that differ only in the shapes asked for have in common: kernels of either may serve one call."""
    data = task.model_dump(mode="json", exclude={"shapes", "where", "axes", "summary"})
    # A path narrows no pitch: kernels for another range of one are not for this operator.
    free = {"shape": {"low", "high", "description"}, "pitch": {"description"}}
    axes = [axis.model_dump(mode="json", exclude=free.get(axis.role, free["shape"])) for axis in task.axes]
    return sha256_text(canonical_json([data, axes]))


def n_shapes(task: Task) -> int:
    """How many shapes the domain has. A part of a domain never has more than the whole."""
    counts = [
        axis.high // axis.multiple_of - -(-axis.low // axis.multiple_of) + 1
        for axis in task.axes
        if axis.role == "shape"
    ]
    return math.prod(counts)


def _bound(item: str) -> Bound:
    match = _ITEM.fullmatch(item)
    if match is None or (match["high"] is not None and match["sign"] != "="):
        raise UsageError(f"where: '{item}' is not understood; write {_FORMS}, with commas between")
    axis, sign, size = match["axis"], match["sign"], int(match["low"])
    if sign == "=":
        return _both(Bound(axis=axis, low=size), Bound(axis=axis, high=int(match["high"] or size)))
    if sign.startswith(">"):
        return Bound(axis=axis, low=size + (sign == ">"))
    if sign == "<" and size == 0:
        raise UsageError(f"where: {item}: no size is below 0")
    return Bound(axis=axis, high=size - (sign == "<"))


def _both(one: Bound, other: Bound) -> Bound:
    low = max(one.low, other.low)
    highs = [bound.high for bound in (one, other) if bound.high is not None]
    high = min(highs) if highs else None
    if high is not None and low > high:
        raise UsageError(f"where: {one.axis}: no size is at least {low} and at most {high}")
    return Bound(axis=one.axis, low=low, high=high)


def _narrowed_axis(task: Task, bound: Bound) -> Axis:
    shape_axes = {axis.name: axis for axis in task.axes if axis.role == "shape"}
    if bound.axis not in shape_axes:
        known = ", ".join(shape_axes) or "none"
        raise UsageError(f"where {bound}: {task.name} has no shape axis '{bound.axis}'; its shape axes: {known}")
    axis = shape_axes[bound.axis]
    step = axis.multiple_of
    low = -(-max(axis.low, bound.low) // step) * step
    high = min(axis.high, axis.high if bound.high is None else bound.high) // step * step
    if low > high:
        domain = f"{axis.low}..{axis.high}" + (f", multiple of {step}" if step > 1 else "")
        raise UsageError(f"where {bound}: no such size is in the domain of {task.name}: {axis.name} is {domain}")
    return axis.model_copy(update={"low": low, "high": high})


def _text(shape: Shape) -> str:
    return " ".join(f"{name}={size}" for name, size in shape.items())
