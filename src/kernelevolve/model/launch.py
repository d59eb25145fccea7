"""How a device-code candidate is started: `launch.toml` as a value. Our code launches; the candidate says what.

[[launch]]                          kernels in this order, one call
kernel = "scale"                    a name in kernel.cu; templates are written out: "scale<4>"
grid = ["R", "(C+4095)/4096", "1"]  expressions over axes and constants: + - * / ( ), / rounds down
block = ["256", "1", "1"]
shared_bytes = "0"                  dynamic shared memory
args = ["x", "y", "part", "R"]      tensors and scratch by pointer, whole numbers as 32 or 64 bits, reals as double
[[scratch]]                         device memory for one call; its content is undefined at the start
name = "part"
bytes = "4*R"
[[constant]]                        a number under a name, for tuning
name = "tile"
value = 128
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, field_validator

from kernelevolve.errors import RecordError
from kernelevolve.model.task import Task, evaluate_dim
from kernelevolve.model.value import Value, explain

FILE_NAME = "launch.toml"
MAX_CHARACTERS = 200
"""Of one expression: nobody needs more, and the evaluation recurses."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KERNEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*(<[A-Za-z0-9_:, ]*>)?")


def _as_text(value: Any) -> Any:
    return str(value) if type(value) is int else value


Expression = Annotated[str, BeforeValidator(_as_text), Field(min_length=1, max_length=MAX_CHARACTERS)]
Triple = tuple[Expression, Expression, Expression]


class Launch(Value):
    kernel: str = Field(max_length=MAX_CHARACTERS)
    grid: Triple
    block: Triple
    shared_bytes: Expression = "0"
    args: tuple[Expression, ...] = Field(default=(), max_length=256)

    @field_validator("kernel")
    @classmethod
    def _named(cls, kernel: str) -> str:
        if not _KERNEL.fullmatch(kernel):
            raise ValueError(f"'{kernel}' is not the name of a kernel")
        return kernel

    @property
    def sizes(self) -> tuple[str, ...]:
        """Every expression that must be a size, in a fixed order: grid, block, shared bytes."""
        return (*self.grid, *self.block, self.shared_bytes)


class Scratch(Value):
    name: str = Field(pattern=f"^{_WORD.pattern}$")
    bytes: Expression


class Constant(Value):
    name: str = Field(pattern=f"^{_WORD.pattern}$")
    value: int = Field(ge=-(2**63), lt=2**63)


class LaunchPlan(Value):
    """One call of a candidate. Field names are the tables of `launch.toml`."""

    launch: tuple[Launch, ...] = Field(min_length=1, max_length=64)
    scratch: tuple[Scratch, ...] = Field(default=(), max_length=64)
    constant: tuple[Constant, ...] = Field(default=(), max_length=256)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Each one once, in the order of its first launch."""
        return tuple(dict.fromkeys(launch.kernel for launch in self.launch))

    def known_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """What expressions may name: axes and constants."""
        return {**sizes, **{item.name: item.value for item in self.constant}}


def read_plan(text: str) -> LaunchPlan:
    """Raises RecordError: one line that says what is wrong where."""
    try:
        return LaunchPlan.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RecordError(f"{FILE_NAME}: {error}") from error
    except ValidationError as error:
        raise RecordError(f"{FILE_NAME}: {explain(error)}") from error


def evaluate(expression: str, sizes: Mapping[str, int]) -> int:
    """Raises ValueError with the expression in it."""
    try:
        return evaluate_dim(expression, sizes)
    except KeyError as error:
        raise ValueError(f"'{expression}' names {error.args[0]!r}, which has no size") from None
    except (ValueError, IndexError):
        raise ValueError(f"'{expression}' is not an expression: names, integers, + - * / and ( )") from None
    except ZeroDivisionError:
        raise ValueError(f"'{expression}' divides by zero") from None


def plan_fault(plan: LaunchPlan, task: Task) -> str | None:
    """Why this plan does not fit the task, whatever the sizes; None when it may."""
    axes = {axis.name: 1009 + 2 * index for index, axis in enumerate(task.axes)}
    values = {spec.name for spec in (*task.inputs, *task.outputs)}
    sizes = plan.known_sizes(axes)
    for kind, names in (("scratch", [s.name for s in plan.scratch]), ("constant", [c.name for c in plan.constant])):
        for name in names:
            if name in values or name in axes or names.count(name) > 1 or (kind == "scratch" and name in sizes):
                return f"{FILE_NAME}: {kind} '{name}': the name is taken"
    expressions = [
        (f"launch {n} ({item.kernel})", size) for n, item in enumerate(plan.launch, 1) for size in item.sizes
    ]
    expressions += [(f"scratch {item.name}", item.bytes) for item in plan.scratch]
    known = values | {item.name for item in plan.scratch}
    for number, item in enumerate(plan.launch, 1):
        expressions += [(f"launch {number} ({item.kernel}), args", arg) for arg in item.args if arg not in known]
    for where, expression in expressions:
        try:
            evaluate(expression, sizes)
        except ValueError as error:
            if "divides" not in str(error):  # may be no fault at the sizes it is called with
                return f"{FILE_NAME}: {where}: {error}"
    return None
