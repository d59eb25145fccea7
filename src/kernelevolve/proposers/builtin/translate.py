"""Turns Inductor's Python wrapper into the body of a C++ entry point.

What it understands: sizes, allocations, views, buffer reuse, kernel calls, matrix products, and the library
operators in `fallbacks`. Anything else is a ProposerError with the statement in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelevolve.errors import ProposerError
from kernelevolve.model.task import FLOAT_DTYPES, Task
from kernelevolve.proposers.builtin.sizes import Size, TaskSizes, combine, contiguous, is_contiguous, number, product
from kernelevolve.proposers.builtin.wrapper import Wrapper
from kernelevolve.toolchains.abi import is_scalar

CPP_TYPES = {
    "float64": "double", "float32": "float", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "int64_t",
    "int32": "int32_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t", "bool": "bool",
}  # fmt: skip
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}


@dataclass(kw_only=True)
class Root:
    """A piece of memory. `pointer` is C++ text; scratch gets its place when all statements are read."""

    name: str
    dtype: str
    size: Size
    pointer: str = ""
    writable: bool = True


@dataclass(frozen=True, kw_only=True)
class View:
    root: Root
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = field(default_factory=lambda: number(0))

    @property
    def is_contiguous(self) -> bool:
        return is_contiguous(self.sizes, self.strides)

    def pointer(self, *, const: bool = False) -> str:
        kind = ("const " if const else "") + CPP_TYPES[self.root.dtype]
        shift = "" if self.offset.constant == 0 else f" + {self.offset.text}"
        return f"(({kind}*)v_{self.root.name}{shift})"


Bound = View | Size


class Translation:
    """The state while statements are read: names, C++ lines, and scratch roots."""

    def __init__(
        self, task: Task, wrapper: Wrapper, sources: Sequence[str], *, axes: Sequence[str] = (),
        hidden: Mapping[str, tuple[str, Sequence[int]]] | None = None,
    ) -> None:  # fmt: skip
        """`sources`: behind each graph input "input", "input:dim", or an axis the reference takes as an argument.
        `hidden`: dtype and sizes of tensors that are none of the task's, such as a module's step counters; they get
        scratch memory, for what is written there is no output."""
        from kernelevolve.proposers.builtin import fallbacks  # it works on the classes above

        self._calls = fallbacks.CALLS
        self.task = task
        self.wrapper = wrapper
        self.sizes = TaskSizes(task)
        self.names: dict[str, Bound | tuple[Size, ...]] = {}
        self.roots: list[Root] = []
        self.lines: list[str] = []
        self.used: set[str] = set()
        """Runtime parts that are needed: gemm, convolution, search."""
        self.prologue: list[str] = []
        self.returned: list[View] = []
        self._hidden = hidden or {}
        self._bind_arguments(sources, axes)
        for statement in wrapper.statements:
            self._statement(statement)
        self._bind_outputs()

    def fail(self, what: str) -> ProposerError:
        return ProposerError(f"Inductor's code cannot be taken over: {what}")

    def new_buffer(self, name: str, dtype: str, sizes: Sequence[Size], strides: Sequence[Size] | None = None) -> View:
        root = Root(name=name, dtype=dtype, size=product(sizes))
        self.roots.append(root)
        view = View(root=root, sizes=tuple(sizes), strides=tuple(strides or contiguous(sizes)))
        self.names[name] = view
        return view

    def view(self, node: ast.expr) -> View:
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
            if isinstance(found, View):
                return found
            raise self.fail(
                f"{node.id} is a tensor built into the graph" if found is None else f"{node.id} is no tensor"
            )
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "reinterpret_tensor":
            base = self.view(node.args[0])
            sizes, strides, offset = self.tuple_of(node.args[1]), self.tuple_of(node.args[2]), self.size(node.args[3])
            return View(root=base.root, sizes=sizes, strides=strides, offset=combine("+", base.offset, offset))
        raise self.fail(ast.unparse(node)[:120])

    def size(self, node: ast.expr) -> Size:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return number(node.value)
        if isinstance(node, ast.Name) and isinstance(found := self.names.get(node.id), Size):
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return combine("-", number(0), self.size(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return combine(_OPERATORS[type(node.op)], self.size(node.left), self.size(node.right))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("max", "min") and len(node.args) == 2:
            return combine(ast.unparse(node.func), self.size(node.args[0]), self.size(node.args[1]))
        raise self.fail(f"the size {ast.unparse(node)[:120]}")

    def tuple_of(self, node: ast.expr) -> tuple[Size, ...]:
        if not isinstance(node, ast.Tuple | ast.List):
            raise self.fail(f"the sizes {ast.unparse(node)[:120]}")
        return tuple(self.size(element) for element in node.elts)

    def _bind_arguments(self, sources: Sequence[str], axes: Sequence[str]) -> None:
        """Graph inputs: tensors, their sizes, and scalars, by the name of the reference's argument."""
        specs = {spec.name: spec for spec in self.task.inputs}
        if len(sources) != len(self.wrapper.arguments):
            raise self.fail("its arguments are not those of the reference")
        for name, source in zip(self.wrapper.arguments, sources, strict=True):
            base, _, index = source.partition(":")
            if base in axes:
                self.names[name] = self.sizes.of_dim(base)
                continue
            if source in self._hidden:
                dtype, sizes = self._hidden[source]
                self.new_buffer(name, dtype, [number(size) for size in sizes])
                continue
            if base not in specs:
                raise self.fail(f"it takes {source}, which is not an input of the task")
            spec = specs[base]
            if index:
                self.names[name] = self.sizes.of(spec)[int(index)]
            elif is_scalar(spec) and spec.dtype not in FLOAT_DTYPES:
                self.names[name] = Size(spec.name, (7919, 7927))
            else:
                self._bind_tensor(name, base)
        bound = {source.partition(":")[0] for source in sources}
        scalars = [spec.name for spec in self.task.inputs if is_scalar(spec)]
        free = [name for name in axes if self.sizes.of_dim(name).samples != (self.task.axis(name).low,) * 2]
        if missing := [name for name in (*scalars, *free) if name not in bound]:
            raise self.fail(f"the value of {missing[0]} is built in")

    def _bind_tensor(self, name: str, base: str) -> None:
        spec = next(spec for spec in self.task.inputs if spec.name == base)
        sizes = self.sizes.of(spec)
        scalar = is_scalar(spec)
        root = Root(
            name=name, dtype="float64" if scalar else spec.dtype, size=product(sizes),
            pointer=f"&{base}" if scalar else base, writable=spec.in_place,
        )  # fmt: skip
        self.prologue.append(f"auto* v_{name} = (void*){root.pointer};")
        self.names[name] = View(root=root, sizes=sizes, strides=contiguous(sizes))

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Delete() | ast.Pass():
                return
            case ast.Return(value=ast.Tuple(elts=elements)):
                self.returned = [self.view(element) for element in elements]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value)
            case ast.Expr(value=ast.Call() as call):
                self._call(call, None)
            case _:
                raise self.fail(ast.unparse(node)[:120])

    def _assign(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Name(id=other) if other in self.names:
                self.names[name] = self.names[other]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=tensor), attr="size"), args=[]):
                self.names[name] = self.view(ast.Name(id=tensor)).sizes
            case ast.Subscript(value=ast.Name(id=other), slice=ast.Constant(value=int() as index)) if isinstance(
                self.names.get(other), tuple
            ):
                found = self.names[other]
                assert isinstance(found, tuple)
                self.names[name] = found[index]
            case ast.Call(func=func) if ast.unparse(func) == "reinterpret_tensor":
                self.names[name] = self.view(value)
            case ast.Call():
                self._call(value, name)
            case _:
                self.names[name] = self.size(value)

    def _call(self, call: ast.Call, result: str | None) -> None:
        function = ast.unparse(call.func)
        if function in self.wrapper.kernels and result is None:
            self._kernel(function, call)
        elif function == "assert_size_stride":
            self._check(call)
        elif function == "empty_strided_cpu" and result is not None:
            self._allocate(result, call)
        elif function in self._calls:
            self._calls[function](self, call, result)
        elif not re.fullmatch(r"args\.clear|assert_alignment", function):
            raise self.fail(f"it calls {function}")

    def _kernel(self, name: str, call: ast.Call) -> None:
        arguments, work = [], [number(1)]
        for kind, node in zip(self.wrapper.kernels[name].types, call.args, strict=True):
            if not kind.rstrip().endswith("*"):
                arguments.append(self.size(node).text)
                continue
            view = self.view(node)
            if not kind.startswith("const ") and not view.root.writable:
                raise self.fail(f"it writes into an input that is not in_place ({view.root.pointer})")
            arguments.append(f"({kind}){view.pointer()}")
            work.append(product(view.sizes))
        self.lines.append(f"ke_work = std::max<int64_t>({{{', '.join(size.text for size in work)}}});")
        self.lines.append(f"{name}::kernel({', '.join(arguments)});")

    def _allocate(self, name: str, call: ast.Call) -> None:
        sizes, strides = self.tuple_of(call.args[0]), self.tuple_of(call.args[1])
        dtype = ast.unparse(call.args[2]).removeprefix("torch.")
        if dtype not in CPP_TYPES:
            raise self.fail(f"a buffer of {dtype}")
        for n in (0, 1):
            shape = [size.samples[n] for size in sizes]
            extent = 1 + sum((size - 1) * stride.samples[n] for size, stride in zip(shape, strides, strict=True))
            if extent > product(sizes).samples[n]:
                raise self.fail(f"buffer {name} has holes")
        self.new_buffer(name, dtype, sizes, strides)

    def _check(self, call: ast.Call) -> None:
        """Sizes Inductor relies on: a free axis that became a number, or two axes that must agree."""
        view, sizes, strides = self.view(call.args[0]), self.tuple_of(call.args[1]), self.tuple_of(call.args[2])
        if len(sizes) != len(view.sizes):
            raise self.fail(f"{view.root.name} has another number of dims")
        for found, wanted in zip(sizes, view.sizes, strict=True):
            if found.same(wanted):
                continue
            if found.constant is not None:
                raise self.fail(f"{wanted.text} is fixed to {found.text} in it")
            self.lines.append(f"if ({found.text} != {wanted.text}) return 1;")
        if not all(
            size.constant in (0, 1) or a.same(b) for size, a, b in zip(sizes, strides, view.strides, strict=True)
        ):
            raise self.fail(f"it expects {view.root.name} in another memory layout")

    def _bind_outputs(self) -> None:
        """A returned buffer is written straight to the output; a returned view, or an input, is copied."""
        if len(self.returned) != len(self.task.outputs):
            raise self.fail(f"it returns {len(self.returned)} tensors, the task has {len(self.task.outputs)} outputs")
        for spec, view in zip(self.task.outputs, self.returned, strict=True):
            sizes = self.sizes.of(spec)
            if view.root.dtype != spec.dtype or len(sizes) != len(view.sizes):
                raise self.fail(f"output {spec.name} is {view.root.dtype}, declared {spec.dtype}")
            for found, wanted in zip(view.sizes, sizes, strict=True):
                if not found.same(wanted) and found.constant != wanted.constant:
                    raise self.fail(f"output {spec.name}: {wanted.text} is {found.text} in it")
            whole = view.is_contiguous and view.offset.constant == 0 and product(sizes).same(view.root.size)
            if whole and view.root in self.roots and not view.root.pointer:
                view.root.pointer = spec.name
            else:
                self._copy(view, spec.name, sizes)

    def _copy(self, view: View, target: str, sizes: Sequence[Size]) -> None:
        kind = CPP_TYPES[view.root.dtype]
        lists = [", ".join(size.text for size in row) for row in (sizes, view.strides, contiguous(sizes))]
        arrays = ", ".join(f"std::array<int64_t, {max(len(sizes), 1)}>{{{row}}}.data()" for row in lists)
        self.lines.append(
            f"ke::copy_strided<{kind}>({view.pointer(const=True)}, ({kind}*){target}, {len(sizes)}, {arrays});"
        )
