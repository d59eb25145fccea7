"""Compiles kernels of a Triton-like module to PTX, without files and without programs: `triton.compile` step by step.

PTX is turned into machine code elsewhere, by an assembler that runs no Python.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

POINTERS = {
    "float64": "*fp64", "float32": "*fp32", "float16": "*fp16", "bfloat16": "*bf16",
    "int64": "*i64", "int32": "*i32", "int16": "*i16", "int8": "*i8", "uint8": "*u8", "bool": "*u8",
}  # fmt: skip
NUMBERS = {"i32": "i32", "i64": "i64", "f32": "fp32"}
SOURCES = {
    "triton": ("triton.compiler", "ASTSource"),
    "gluon": ("triton.experimental.gluon._runtime", "GluonASTSource"),
    "tlx": ("triton.compiler", "ASTSource"),
}
WARM = """\
import triton
import triton.language as tl


@triton.jit
def warm(p, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(p + at, tl.exp(tl.load(p + at, mask=at < n)), mask=at < n)
"""


class State:
    """What compiling needs, imported before the candidate runs."""

    def __init__(self, request: dict[str, Any]) -> None:
        if request["language"] == "tlx":
            import_module("utlx_plugin")
        module, name = SOURCES[request["language"]]
        self.source_class = getattr(import_module(module), name)
        self.plain_class = import_module("triton.compiler").ASTSource
        self.ir = import_module("triton._C.libtriton").ir
        self.target = import_module("triton.backends.compiler").GPUTarget("cuda", int(request["capability"]), 32)
        self.backend = import_module("triton.compiler.compiler").make_backend(self.target)
        self.function_class = import_module("triton.runtime.jit").JITFunction
        self.error = import_module("triton.compiler.errors").CompilationError

    def compile(self, source: Any, options: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """(the compiler's metadata, PTX)."""
        parsed = self.backend.parse_options({**options, **source.parse_options()})
        metadata: dict[str, Any] = {"target": self.target, **vars(parsed)}
        stages: dict[str, Any] = {}
        self.backend.add_stages(stages, parsed, source.language)
        context = self.ir.context()
        self.ir.load_dialects(context)
        self.backend.load_dialects(context)
        module = source.make_ir(
            self.target, parsed, self.backend.get_codegen_implementation(parsed), self.backend.get_module_map(), context
        )
        names = list(stages)
        for name in names[names.index(source.ext) : names.index("ptx") + 1]:
            module = stages[name](module, metadata)
        return metadata, str(module)


def prepare(request: dict[str, Any]) -> State:
    state = State(request)
    import linecache

    linecache.cache["warm.py"] = (len(WARM), None, WARM.splitlines(keepends=True), "warm.py")
    names: dict[str, Any] = {"__name__": "warm"}
    exec(compile(WARM, "warm.py", "exec"), names)
    signature = {"p": "*fp32", "n": "i32", "B": "constexpr"}
    state.compile(state.plain_class(names["warm"], signature, {"B": 64}, {}), {"num_warps": 1})
    return state


def emit(state: State, modules: dict[str, ModuleType], launch: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    function = find(state, modules, launch["kernel"])
    signature, constexprs, attrs = describe(function, launch)
    options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
    metadata, ptx = state.compile(state.source_class(function, signature, constexprs, attrs), options)
    facts = {
        "threads": 32 * int(metadata["num_warps"]),
        "shared_bytes": int(metadata.get("shared") or 0),
        "scratch_bytes": int(metadata.get("global_scratch_size") or 0),
    }
    if int(metadata.get("num_ctas") or 1) != 1:
        raise ValueError("launch.toml: clusters (num_ctas above 1) are not launched here")
    if int(metadata.get("profile_scratch_size") or 0):
        raise ValueError("a kernel that profiles itself is not launched here")
    return facts, ptx.encode()


def find(state: State, modules: dict[str, ModuleType], name: str) -> Any:
    for module in modules.values():
        found = getattr(module, name, None)
        if isinstance(found, state.function_class):
            return found
        if hasattr(found, "arg_names"):
            raise ValueError(f"launch.toml: '{name}' has more than the jit decorator; what is tuned are constexprs")
    raise ValueError(f"launch.toml: no kernel '{name}': a top-level function with the language's jit decorator")


def describe(function: Any, launch: dict[str, Any]) -> tuple[dict[str, str], dict[Any, Any], dict[Any, Any]]:
    """(signature, constexprs, attributes) as the compiler takes them."""
    given = list(launch["args"])
    signature: dict[str, str] = {}
    constexprs: dict[Any, Any] = {}
    attributes: dict[Any, Any] = {}
    left = dict(launch["constexprs"])
    wanted = [p.name for p in function.params if not p.is_constexpr]
    if len(wanted) != len(given):
        raise ValueError(f"launch.toml: {function.__name__} takes {len(wanted)} arguments ({', '.join(wanted)}) "
                         f"besides its constexprs, args has {len(given)}")  # fmt: skip
    for index, parameter in enumerate(function.params):
        if parameter.is_constexpr:
            signature[parameter.name] = "constexpr"
            if parameter.name not in left and not parameter.has_default:
                raise ValueError(f"launch.toml: constexprs has no {parameter.name}")
            constexprs[(index,)] = left.pop(parameter.name, parameter.default if parameter.has_default else None)
            continue
        argument = given.pop(0)
        signature[parameter.name] = POINTERS[argument["dtype"]] if argument["pointer"] else NUMBERS[argument["width"]]
        if argument["multiple"] % 16 == 0:
            attributes[(index,)] = [["tt.divisibility", 16]]
    if left:
        raise ValueError(f"launch.toml: {function.__name__} has no constexpr {', '.join(sorted(left))}")
    return signature, constexprs, attributes


def place(state: State, modules: dict[str, ModuleType], error: BaseException) -> tuple[str, int, str] | None:
    """The line of the innermost compilation error: its function's first line and its own within it. Its message without
    the source that comes with it."""
    chain: list[Any] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        if isinstance(cause, state.error):
            chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    for inner in reversed(chain):
        line = getattr(getattr(inner, "node", None), "lineno", None)
        for module in modules.values():
            for function in vars(module).values():
                if line and hasattr(function, "starting_line_number") and function.src == inner.src:
                    before = "".join(function.raw_src).count("\n", 0, "".join(function.raw_src).find("def "))
                    text = getattr(inner, "error_message", None) or inner.__cause__ or inner
                    at = function.starting_line_number + before + line - 1
                    return function.fn.__code__.co_filename, at, str(text)
    return None
