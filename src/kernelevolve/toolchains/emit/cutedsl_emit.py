"""Compiles kernels of CuTe DSL to PTX: a host function that only launches is written around each, and compiled with it.

The language writes PTX to a file; `-` is its standard output, which is turned into memory for that moment, since no
file may be written any more.
"""

from __future__ import annotations

import linecache
import os
import re
import traceback
from importlib import import_module
from types import ModuleType
from typing import Any

WRAPPER = "ke_wrapper.py"
DTYPES = {
    "float64": "Float64", "float32": "Float32", "float16": "Float16", "bfloat16": "BFloat16", "int64": "Int64",
    "int32": "Int32", "int16": "Int16", "int8": "Int8", "uint8": "Uint8", "bool": "Uint8",
}  # fmt: skip
NUMBERS = {"i32": "Int32", "i64": "Int64", "f32": "Float32"}
WARM = """\
import cutlass
import cutlass.cute as cute


@cute.kernel
def warm(p: cute.Pointer, n: cutlass.Int32, WIDTH: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(WIDTH), 16)
    at = cute.make_tensor(p, cute.make_layout(n))
    if thread < n:
        shared[thread] = cute.math.exp(at[thread])
        at[thread] = cute.arch.warp_reduction_sum(shared[thread])
"""
_LAUNCH = r"%(\d+) = llvm\.getelementptr %\d+\[0, 2\] : \(!llvm\.ptr\) -> !llvm\.ptr, !llvm\.struct<\(array<3 x i32>, "
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class CompilationError(Exception):
    """What the language says, without its colours and its excerpt of the source."""


class State:
    """What compiling needs, imported before the candidate runs."""

    def __init__(self, request: dict[str, Any]) -> None:
        os.environ["CUTE_DSL_ARCH"] = request["architecture"]
        self.cutlass = import_module("cutlass")
        self.cute = import_module("cutlass.cute")
        self.make_ptr = import_module("cutlass.cute.runtime").make_ptr
        common = import_module("cutlass.base_dsl.common")
        self.errors = (common.DSLBaseError, import_module("cutlass._mlir.ir").MLIRError)
        base = import_module("cutlass.cutlass_dsl.cutlass").CutlassBaseDSL
        prepared = base.preprocess_pipeline

        def with_ptx(dsl: Any, pipeline: str, arch: str) -> str:
            return str(prepared(dsl, pipeline, arch)).replace("cubin-format=bin", "cubin-format=bin dump-ptx-path=-")

        base.preprocess_pipeline = with_ptx

    def compile(self, function: Any, launch: dict[str, Any]) -> tuple[str, str]:
        """(PTX, the host code with its launch)."""
        text = wrapper(function, launch)
        linecache.cache[WRAPPER] = (len(text), None, text.splitlines(keepends=True), WRAPPER)
        names = {"cute": self.cute, "cutlass": self.cutlass, "kernel": function, "__name__": "ke_wrapper"}
        exec(compile(text, WRAPPER, "exec"), names)
        values = [self.value(argument) for argument in launch["args"]]
        memory, printed = os.memfd_create("ptx"), os.dup(1)
        os.dup2(memory, 1)
        try:
            done = self.cute.compile(names["launcher"], *values, no_jit_engine=True)
        finally:
            os.dup2(printed, 1)
            os.close(printed)
        ptx = os.pread(memory, os.fstat(memory).st_size, 0)
        os.close(memory)
        return ptx.decode(errors="replace"), str(done.ir_module)

    def value(self, argument: dict[str, Any]) -> Any:
        if argument["pointer"]:
            dtype = getattr(self.cutlass, DTYPES[argument["dtype"]])
            return self.make_ptr(dtype, 2**20, self.cute.AddressSpace.gmem, assumed_align=argument["multiple"])
        return getattr(self.cutlass, NUMBERS[argument["width"]])(1)


def prepare(request: dict[str, Any]) -> State:
    state = State(request)
    linecache.cache["warm.py"] = (len(WARM), None, WARM.splitlines(keepends=True), "warm.py")
    names: dict[str, Any] = {"__name__": "warm"}
    exec(compile(WARM, "warm.py", "exec"), names)
    pointer = {"pointer": True, "dtype": "float32", "multiple": 16}
    number = {"pointer": False, "width": "i32"}
    state.compile(names["warm"], {"constexprs": {"WIDTH": 32}, "num_warps": 1, "args": [pointer, number]})
    return state


def emit(state: State, modules: dict[str, ModuleType], launch: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    function = find(modules, launch["kernel"])
    try:
        ptx, host = state.compile(function, launch)
    except state.errors as error:
        raise CompilationError(told(error)) from error
    return {"threads": 32 * int(launch["num_warps"]), "shared_bytes": shared_bytes(host)}, ptx.encode()


def find(modules: dict[str, ModuleType], name: str) -> Any:
    for module in modules.values():
        if callable(found := getattr(module, name, None)):
            return found
    raise ValueError(f"launch.toml: no kernel '{name}': a top-level function with @cute.kernel")


def wrapper(function: Any, launch: dict[str, Any]) -> str:
    """The host function: the kernel's own parameters without the constants, and the launch."""
    code = getattr(function, "__wrapped__", function).__code__
    wanted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    constants = dict(launch["constexprs"])
    left = [name for name in wanted if name not in constants]
    if absent := [name for name in constants if name not in wanted]:
        raise ValueError(f"launch.toml: {function.__name__} has no parameter {absent[0]}")
    if len(left) != len(launch["args"]):
        raise ValueError(f"launch.toml: {function.__name__} takes {len(left)} arguments ({', '.join(left)}) besides "
                         f"its constexprs, args has {len(launch['args'])}")  # fmt: skip
    kinds = ["cute.Pointer" if item["pointer"] else f"cutlass.{NUMBERS[item['width']]}" for item in launch["args"]]
    parameters = ", ".join(f"{name}: {kind}" for name, kind in zip(left, kinds, strict=True))
    given = ", ".join([*(f"{name}={name}" for name in left), *(f"{name}={int(n)}" for name, n in constants.items())])
    threads = 32 * int(launch["num_warps"])
    return (
        f"@cute.jit\ndef launcher({parameters}):\n    kernel({given}).launch(grid=(1, 1, 1), block=({threads}, 1, 1))\n"
    )


def shared_bytes(host: str) -> int:
    """Of the one launch: what is stored in the third field of its configuration."""
    fields = re.findall(_LAUNCH, host)
    if len(fields) != 1:
        raise ValueError(f"one launch was expected, {len(fields)} were compiled")
    stored = re.search(rf"llvm\.store %(\d+), %{fields[0]} : i64", host)
    size = stored and re.search(rf"%{stored[1]} = llvm\.mlir\.constant\((\d+) : i64\)", host)
    if not size:
        raise ValueError("how much shared memory the kernel needs is not known when it is compiled")
    return int(size[1])


def told(error: BaseException) -> str:
    """The language's message; of its core's, what was diagnosed."""
    diagnosed = [str(item.message) for item in getattr(error, "error_diagnostics", ())]
    return _COLOUR.sub("", " | ".join(diagnosed) or str(getattr(error, "message", "") or error))


def place(state: State, modules: dict[str, ModuleType], error: BaseException) -> tuple[str, int] | None:
    """Where the language says it is, which keeps file and line with its own errors; else where it was raised."""
    files = {getattr(module, "__file__", "") for module in modules.values()}
    cause: BaseException | None = error
    seen: list[BaseException] = []
    while cause is not None and cause not in seen:
        seen.append(cause)
        frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(cause.__traceback__)]
        own = (getattr(cause, "filename", None), getattr(cause, "line", None))
        for file, line in (own, *reversed(frames)):
            if file in files and isinstance(line, int):
                return str(file), line
        cause = cause.__cause__ or cause.__context__
    return None
