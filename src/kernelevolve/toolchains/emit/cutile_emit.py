"""Compiles kernels of cuTile to the bytecode of Tile IR, without files and without programs."""

from __future__ import annotations

import io
import linecache
from importlib import import_module
from types import ModuleType
from typing import Any

BYTECODE = "13.4"
"""Of Tile IR; asking the assembler which it takes would start a program."""
DTYPES = {
    "float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16", "int64": "int64",
    "int32": "int32", "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "uint8",
}  # fmt: skip
NUMBERS = {"i32": "int32", "i64": "int64", "f32": "float32"}
ALIGNMENT = 64
"""Of tensors and scratch: the judge's promise."""
WARM = """\
import cuda.tile as ct


@ct.kernel
def warm(x, n, WIDTH: ct.Constant[int]):
    at = ct.load(x, (ct.bid(0),), (WIDTH,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(x, (ct.bid(0),), ct.exp(at) * ct.sum(at) + n)
"""


class State:
    """What compiling needs, imported before the candidate runs."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.tile = import_module("cuda.tile")
        self.compilation = import_module("cuda.tile.compilation")
        self.target = request["architecture"].rstrip("af")
        self.convention = self.compilation.CallingConvention.cutile_python_v2()
        writer = import_module("cuda.tile._ir2bytecode").BytecodeContext
        hints = writer.load_store_hints

        def without_tma(context: Any, latency: Any, allow_tma: Any) -> Any:
            """Tensor maps are filled in by host code, which is not run where the kernel is judged."""
            return hints(context, latency, False)

        writer.load_store_hints = without_tma

    def compile(self, kernel: Any, launch: dict[str, Any]) -> bytes:
        output = io.BytesIO()
        signature = self.compilation.KernelSignature(
            self.constraints(kernel, launch), self.convention, launch["kernel"]
        )
        self.compilation.export_kernel(
            kernel, [signature], output, gpu_code=self.target, output_format="tileir_bytecode",
            bytecode_version=BYTECODE,
        )  # fmt: skip
        return output.getvalue()

    def constraints(self, kernel: Any, launch: dict[str, Any]) -> list[Any]:
        """One per parameter of the kernel: constants by name, the others in the order of args."""
        left, constants = list(launch["args"]), dict(launch["constexprs"])
        names = list(kernel._annotated_function.pysig.parameters)
        wanted = [name for name in names if name not in constants]
        if len(wanted) != len(left):
            raise ValueError(f"launch.toml: {launch['kernel']} takes {len(wanted)} arguments ({', '.join(wanted)}) "
                             f"besides its constexprs, args has {len(left)}")  # fmt: skip
        if absent := [name for name in constants if name not in names]:
            raise ValueError(f"launch.toml: {launch['kernel']} has no parameter {absent[0]}")
        return [
            self.compilation.ConstantConstraint(constants[name]) if name in constants else self.constraint(left.pop(0))
            for name in names
        ]

    def constraint(self, argument: dict[str, Any]) -> Any:
        if not argument["pointer"]:
            return self.compilation.ScalarConstraint(getattr(self.tile, NUMBERS[argument["width"]]))
        n, multiple = argument["ndim"], argument["row_multiple"]
        return self.compilation.ArrayConstraint(
            getattr(self.tile, DTYPES[argument["dtype"]]), n, index_dtype=self.tile.int32, stride_lower_bound_incl=0,
            alias_groups=(), may_alias_internally=False, stride_constant=(None,) * (n - 1) + (1,) if n else None,
            stride_divisible_by=(multiple,) * (n - 1) + (1,) if n else 1,
            shape_divisible_by=(1,) * (n - 1) + (multiple,) if n else 1, base_addr_divisible_by=ALIGNMENT,
        )  # fmt: skip


def prepare(request: dict[str, Any]) -> State:
    state = State(request)
    linecache.cache["warm.py"] = (len(WARM), None, WARM.splitlines(keepends=True), "warm.py")
    names: dict[str, Any] = {"__name__": "warm"}
    exec(compile(WARM, "warm.py", "exec"), names)
    array = {"pointer": True, "dtype": "float32", "ndim": 1, "row_multiple": 1}
    number = {"pointer": False, "width": "i32"}
    state.compile(names["warm"], {"kernel": "warm", "constexprs": {"WIDTH": 32}, "args": [array, number]})
    return state


def emit(state: State, modules: dict[str, ModuleType], launch: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    for module in modules.values():
        if isinstance(found := getattr(module, launch["kernel"], None), state.tile.kernel):
            return {}, state.compile(found, launch)
    raise ValueError(f"launch.toml: no kernel '{launch['kernel']}': a top-level function with @ct.kernel")


def place(state: State, modules: dict[str, ModuleType], error: BaseException) -> tuple[str, int] | None:
    """Where the language says it is; it keeps the place with its own errors."""
    files = {getattr(module, "__file__", "") for module in modules.values()}
    cause: BaseException | None = error
    seen: list[BaseException] = []
    while cause is not None and cause not in seen:
        seen.append(cause)
        place = getattr(cause, "loc", None)
        file, line = getattr(place, "filename", None), getattr(place, "line", None)
        if file in files and isinstance(line, int):
            return str(file), line
        cause = cause.__cause__ or cause.__context__
    return None
