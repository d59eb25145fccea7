"""Takes out of what a proposer reads the sizes that only hidden shapes have.

Three places can tell them: text that names a shape ("N=4099"), counts that follow from one (elements, bytes), and
exact figures from which one can be computed (bytes moved, a floor). Figures are rounded to two digits, and left out
where even that is a hidden number.

Text is of two kinds. In what our own code wrote about a diagnosis just the hidden numbers are replaced. In what a
candidate has a hand in (a compiler's words about its source, the value it returned) every number is that could be a
size, hidden or not: else a source that lists all numbers would be told, by those that vanish, which ones are hidden.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from kernelevolve.model.diagnosis import Diagnosis, Evidence, Unknown
from kernelevolve.model.task import Shape, Task, TensorSpec, bytes_of, evaluate_dim
from kernelevolve.model.verdict import CompileMessage

HIDDEN = "(hidden)"
NUMBER = "(number)"
BARE = 100
"""From here on a number is replaced wherever it stands alone; a smaller one only beside its axis' name or in a list of
sizes, for "2 errors" says nothing about a shape."""
_BARE = re.compile(r"(?<![\w.])\d{3,}(?!\w|\.\d)")
_ROW = re.compile(r"(?<![\w.])\d+(?:\s*[,x×*]\s*\d+)+(?!\w|\.\d)")
_IS = r"\s*(?:==|[=:]|is|of)\s*"
DIGITS = 2
MAX_DIGITS = 19
"""Of a size; Python reads no number of thousands of digits."""
NO_SIZE = (KeyError, ValueError, ZeroDivisionError, IndexError)
"""A dim that is known only from an input's content, or that is no expression."""


class Hidden:
    """Of one task, with all of its shape sets. Raises nothing: a size that cannot be computed is no size."""

    def __init__(self, task: Task) -> None:
        shown, hidden = task.shapes.shown, (*task.shapes.search, *task.shapes.sealed)
        self._shown = _numbers(task, shown)
        self._numbers = _numbers(task, hidden) - self._shown
        self._pairs = {(name, str(size)) for shape in shown for name, size in shape.items()}
        self._rows = {_sizes(spec, shape) for spec in (*task.inputs, *task.outputs) for shape in shown}
        names = sorted({re.escape(name) for shape in (*shown, *hidden) for name in shape}, key=len, reverse=True)
        self._named = re.compile(rf"\b({'|'.join(names)})\b(['\"]?{_IS})(\d+)\b") if names else None
        self._patterns = [*_named(hidden, shown), *_lists(task, hidden, shown)]
        bare = sorted((number for number in self._numbers if number >= BARE), reverse=True)
        if bare:
            self._patterns.append((re.compile(rf"(?<![\w.]){_any(bare)}(?!\w|\.\d)"), HIDDEN))

    def text(self, text: str) -> str:
        """What others have a hand in: without every size of an axis, list of sizes and larger number, but for those
        of the shown shapes."""
        return _BARE.sub(self._number, _ROW.sub(self._row, self.remark(text)))

    def remark(self, text: str) -> str:
        """What somebody wrote who knows as much as its reader: without sizes of axes that are not shown ones. A person
        who knows the hidden shapes must not write them in another form."""
        return text if self._named is None else self._named.sub(self._size, text)

    def _size(self, found: re.Match[str]) -> str:
        return found[0] if (found[1], found[3]) in self._pairs else f"{found[1]}{found[2]}{HIDDEN}"

    def _row(self, found: re.Match[str]) -> str:
        sizes = re.findall(r"\d+", found[0])
        known = max(map(len, sizes)) < MAX_DIGITS and tuple(map(int, sizes)) in self._rows
        return found[0] if known else NUMBER

    def _number(self, found: re.Match[str]) -> str:
        return found[0] if len(found[0]) < MAX_DIGITS and int(found[0]) in self._shown else NUMBER

    def own(self, text: str) -> str:
        """What our own code wrote: without the hidden numbers."""
        for pattern, replacement in self._patterns:
            text = pattern.sub(replacement, text)
        return text

    def messages(self, messages: Iterable[CompileMessage]) -> tuple[CompileMessage, ...]:
        """Compilers that build for given sizes repeat them."""
        return tuple(item.model_copy(update={"message": self.text(item.message)}) for item in messages)

    def diagnosis(self, diagnosis: Diagnosis | None) -> Diagnosis | None:
        if diagnosis is None:
            return None
        return diagnosis.model_copy(
            update={
                "evidence": tuple(kept for item in diagnosis.evidence if (kept := self._evidence(item))),
                "advice": self.own(diagnosis.advice),
                "kernel": self.text(diagnosis.kernel),
                "unknown": tuple(
                    Unknown(what=self.text(item.what), why=self.text(item.why)) for item in diagnosis.unknown
                ),
            }
        )

    def _evidence(self, item: Evidence) -> Evidence | None:
        value = rounded(item.value)
        if value >= BARE and value in self._numbers:
            return None
        threshold = None if item.threshold is None else rounded(item.threshold)
        return item.model_copy(update={"value": value, "threshold": threshold, "note": self.own(item.note)})


def rounded(value: float) -> float:
    """To `DIGITS` significant digits."""
    if value == 0 or not math.isfinite(value):
        return value
    return float(f"{value:.{DIGITS - 1}e}")


def _named(hidden: Iterable[Shape], shown: Iterable[Shape]) -> list[tuple[re.Pattern[str], str]]:
    """ "N=4099", "'N': 4099", "N = 4099"."""
    known = {item for shape in shown for item in shape.items()}
    sizes: dict[str, set[int]] = {}
    for shape in hidden:
        for name, size in shape.items():
            if (name, size) not in known:
                sizes.setdefault(name, set()).add(size)
    return [
        (re.compile(rf"(\b{re.escape(name)}\b['\"]?{_IS}){_any(found)}\b"), rf"\1{HIDDEN}")
        for name, found in sizes.items()
    ]


def _lists(task: Task, hidden: Iterable[Shape], shown: Iterable[Shape]) -> list[tuple[re.Pattern[str], str]]:
    """ "[2, 4099]", "(2, 4099)", "2x4099": the sizes of a whole tensor."""
    specs = (*task.inputs, *task.outputs)
    known = {_sizes(spec, shape) for spec in specs for shape in shown}
    found = {_sizes(spec, shape) for spec in specs for shape in hidden} - known
    between = r"\s*[,x×*]\s*"
    rows = [between.join(map(str, sizes)) for sizes in sorted(found) if len(sizes) > 1]
    return [(re.compile(rf"(?<![\w.]){row}\b"), HIDDEN) for row in rows]


def _sizes(spec: TensorSpec, shape: Shape) -> tuple[int, ...]:
    try:
        return tuple(evaluate_dim(dim, shape) for dim in spec.dims)
    except NO_SIZE:
        return ()


def _numbers(task: Task, shapes: Iterable[Shape]) -> set[int]:
    """Everything that follows from these shapes and tells them: axes, dims, elements and bytes of each tensor."""
    found: set[int] = set()
    for shape in shapes:
        found |= set(shape.values())
        for spec in (*task.inputs, *task.outputs):
            if sizes := _sizes(spec, shape):
                found |= {*sizes, math.prod(sizes), bytes_of((spec,), shape)}
        found.add(_traffic(task, shape))
    return found


def _traffic(task: Task, shape: Shape) -> int:
    try:
        if task.traffic:
            return evaluate_dim(task.traffic, shape)
        return bytes_of((*task.inputs, *task.written), shape)
    except NO_SIZE:
        return 0


def _any(numbers: Iterable[int]) -> str:
    return f"(?:{'|'.join(map(str, sorted(numbers, reverse=True)))})"
