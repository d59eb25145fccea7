"""How a device-code candidate is started: `launch.toml` as a value. Our code launches; the candidate says what.

[[launch]]                          kernels in this order, one call
kernel = "scale"                    a name in kernel.cu; templates are written out: "scale<4>"
grid = ["R", "(C+4095)/4096", "1"]  expressions over axes and constants: + - * / ( ), / rounds down
block = ["256", "1", "1"]
shared_bytes = "0"                  dynamic shared memory
args = ["x", "y", "part", "R"]      tensors and scratch by pointer, numbers as wide as the kernel's parameters
[[scratch]]                         device memory for one call; its content is undefined at the start
name = "part"
bytes = "4*R"
[[constant]]                        a number under a name, for tuning
name = "tile"
value = 128

Languages that are compiled for given constants (Triton and its kin) have no block and no shared_bytes, the compiler
says them; instead:
args = ["x", "R:i32:16"]            a number's width, and that it is a multiple of 16: other shapes are refused
constexprs = { BLOCK = "tile" }     expressions over constants
num_warps = 4
num_stages = 3
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

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
ONE: Triple = ("1", "1", "1")
_ARGUMENT = re.compile(r"(?P<what>[^:]+?) *(: *(?P<width>i32|i64|f32))? *(: *(?P<multiple>16))?")


class Argument(Value):
    """One of a launch's `args`, taken apart."""

    what: str = Field(description="a tensor, a scratch, a scalar or an expression over axes and constants")
    width: Literal["", "i32", "i64", "f32"] = ""
    multiple: int = 1

    @staticmethod
    def of(text: str) -> Argument:
        """Raises ValueError."""
        match = _ARGUMENT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"'{text}' is no argument: NAME, NAME:i32, NAME:i64 or NAME:f32, and :16 after it")
        return Argument.model_validate(
            {"what": match["what"], "width": match["width"] or "", "multiple": int(match["multiple"] or 1)}
        )


class Launch(Value):
    kernel: str = Field(max_length=MAX_CHARACTERS)
    grid: Triple
    block: Triple = ONE
    shared_bytes: Expression = "0"
    args: tuple[Expression, ...] = Field(default=(), max_length=256)
    constexprs: dict[str, Expression] = {}
    num_warps: Expression | None = None
    num_stages: Expression | None = None

    @field_validator("args")
    @classmethod
    def _arguments(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        for text in args:
            Argument.of(text)
        return args

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

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return tuple(Argument.of(text) for text in self.args)

    @property
    def compile_time(self) -> dict[str, str]:
        """What the compiler must know, by name; expressions over constants alone."""
        numbers = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return {**self.constexprs, **{name: text for name, text in numbers.items() if text is not None}}


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
        expressions += [
            (f"launch {number} ({item.kernel}), args", arg.what) for arg in item.arguments if arg.what not in known
        ]
    fault = _first_fault(expressions, sizes)
    constants = plan.known_sizes({})
    for number, item in enumerate(plan.launch, 1):
        where = f"launch {number} ({item.kernel}), compile-time"
        fault = fault or _first_fault([(where, text) for text in item.compile_time.values()], constants)
    return fault


def _first_fault(expressions: list[tuple[str, str]], sizes: Mapping[str, int]) -> str | None:
    for where, expression in expressions:
        try:
            evaluate(expression, sizes)
        except ValueError as error:
            if "divides" not in str(error):  # may be no fault at the sizes it is called with
                return f"{FILE_NAME}: {where}: {error}"
    return None
