"""Axis sizes: read off the arguments' shapes and strides, put into expressions over axes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any

_ALLOWED = re.compile(r"[A-Za-z0-9_ +*()/-]+")


class Unfit(Exception):
    """These arguments, or this machine, are not for the kernel; the message says why."""


class Expression:
    """Names, whole numbers, + - * / ( ); the division rounds down."""

    def __init__(self, text: str) -> None:
        if not _ALLOWED.fullmatch(text) or "**" in text or "//" in text:
            raise Unfit(f"'{text}' is no expression over axes")
        plain = re.sub(r"\b0+(?=\d)", "", text).replace("/", "//").strip()
        self.text = text
        try:
            self._code: CodeType = compile(plain, "<axes>", "eval")
        except SyntaxError:
            raise Unfit(f"'{text}' is no expression over axes") from None
        self.names = tuple(dict.fromkeys(self._code.co_names))

    def of(self, sizes: Mapping[str, Any]) -> Any:
        try:
            return eval(self._code, {"__builtins__": {}}, dict(sizes))
        except (ArithmeticError, NameError) as error:
            raise Unfit(f"'{self.text}': {error}") from None


class Dims:
    """The declared sizes of every tensor. Works on whole numbers and on the symbols of a traced call."""

    def __init__(self, tensors: Sequence[Mapping[str, Any]]) -> None:
        self._names = [spec["name"] for spec in tensors]
        self._dims = [[Expression(dim) for dim in spec["dims"]] for spec in tensors]

    def sizes(self, shapes: Sequence[Sequence[Any]], given: Mapping[str, Any]) -> dict[str, Any]:
        """Every axis that follows from the shapes: plain dims first, then one unknown at a time."""
        sizes = dict(given)
        pending = [
            pair for dims, shape in zip(self._dims, shapes, strict=True) for pair in zip(dims, shape, strict=True)
        ]
        while pending:
            left = []
            for dim, size in pending:
                unknown = [name for name in dim.names if name not in sizes]
                if len(unknown) == 1:
                    sizes[unknown[0]] = _solved(dim, unknown[0], size, sizes)
                elif unknown:
                    left.append((dim, size))
            if len(left) == len(pending):
                raise Unfit(f"the size of {left[0][0].text} does not follow from the inputs")
            pending = left
        return sizes

    def check(self, shapes: Sequence[Sequence[int]], sizes: Mapping[str, Any]) -> None:
        for name, dims, shape in zip(self._names, self._dims, shapes, strict=True):
            wanted = [dim.of(sizes) for dim in dims]
            if list(shape) != wanted:
                raise Unfit(f"{name} is {list(shape)}, expected {wanted}")


def _solved(dim: Expression, name: str, size: Any, sizes: Mapping[str, Any]) -> Any:
    if dim.text == name:
        return size
    zero, one = (dim.of({**sizes, name: number}) for number in (0, 1))
    if one == zero:
        raise Unfit(f"{name} cannot be read off {dim.text} = {size}")
    return (size - zero) // (one - zero)


def pitch(spec: Mapping[str, Any], tensor: Any) -> int:
    """Elements from one row of a tensor to the next. Raises Unfit where they are not as the kernel takes them: rows
    back to back, or a multiple of the step further apart, and each of them contiguous."""
    name, low, high, step = spec["pitch"]
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    row = 1
    for size, stride in zip(reversed(shape[1:]), reversed(strides[1:]), strict=True):
        if size != 1 and stride != row and tensor.numel():
            raise Unfit(f"{spec['name']} is not contiguous behind its first dimension")
        row *= size
    found: int = strides[0]
    fits = row <= found <= high and (found == row or (low <= found and found % step == 0))
    if not fits and (shape[0] < 2 or not row):  # no second row: nobody can tell, so any will do
        found, fits = row, row <= high
    if not fits:
        raise Unfit(
            f"rows of {spec['name']} are {found} elements apart; {name} is {row}, or {low}..{high} above it, "
            f"multiple of {step}"
        )
    return found


class Rule:
    """The shapes that one kernel serves: a box of axis ranges, and then exactly the measured ones when it says so."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._ranges = [(name, low, high, step) for name, (low, high, step) in data["ranges"].items()]
        self._axes = tuple(data["ranges"])
        self._only = None if data["only"] is None else {self._point(shape) for shape in data["only"]}
        self._never = {self._point(shape) for shape in data["never"]}

    def fault(self, sizes: Mapping[str, Any]) -> str | None:
        """Why the kernel does not serve these sizes; None when it does."""
        for name, low, high, step in self._ranges:
            size = sizes.get(name)
            if not isinstance(size, int):
                return f"{name} is not known"
            if not low <= size <= high or size % step:
                return f"{name}={size} is outside the checked domain {low}..{high}, multiple of {step}"
        point = self._point(sizes)
        if self._only is not None and point not in self._only:
            return "this shape was not measured"
        return "the kernel was measured to be slower at this shape" if point in self._never else None

    def _point(self, sizes: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(sizes[name] for name in self._axes)
