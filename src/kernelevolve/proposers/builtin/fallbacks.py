"""Library operators in Inductor's wrapper, replaced by the small C++ in `runtime/`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernelevolve.proposers.builtin.sizes import Size, combine, number, product
from kernelevolve.proposers.builtin.translate import CPP_TYPES, Translation, View

Handler = Callable[[Translation, ast.Call, str | None], None]


def _literal(call: ast.Call, position: int, name: str, default: object) -> object:
    """An argument given as a plain constant, by keyword or position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return ast.literal_eval(keyword.value)
    return ast.literal_eval(call.args[position]) if 0 <= position < len(call.args) else default


def _out(t: Translation, call: ast.Call) -> View:
    for keyword in call.keywords:
        if keyword.arg == "out":
            return t.view(keyword.value)
    raise t.fail(f"it calls {ast.unparse(call.func)} without out=")


def _matrix(view: View, *, batched: bool, like: View | None = None) -> str:
    """C++ for a ke::Matrix; with `like`, broadcast to that view's dims."""
    sizes, strides = list(view.sizes), list(view.strides)
    wanted = len(like.sizes) if like else len(sizes)
    strides = [number(0)] * (wanted - len(sizes)) + strides
    sizes = [number(1)] * (wanted - len(sizes)) + sizes
    if like:
        strides = [
            _broadcast(size, stride, full) for size, stride, full in zip(sizes, strides, like.sizes, strict=True)
        ]
        sizes = list(like.sizes)
    if not batched:
        sizes, strides = [number(1), *sizes], [number(0), *strides]
    kind = ("const " if like or not view.root.writable else "") + CPP_TYPES[view.root.dtype]
    lists = [", ".join(size.text for size in row) for row in (sizes, strides)]
    return f"ke::Matrix<{kind}>{{{view.pointer()}, {{{lists[0]}}}, {{{lists[1]}}}}}"


def _broadcast(size: Size, stride: Size, full: Size) -> Size:
    """The stride with which a dim of `size` is read `full` times."""
    if size.constant == 1:
        return number(0)
    return stride if size.same(full) else Size(f"({size.text} == 1 ? 0 : {stride.text})", stride.samples)


def _multiply(t: Translation, left: View, right: View, out: View, *, batched: bool, more: str = "") -> None:
    kind = CPP_TYPES[out.root.dtype]
    if kind not in ("float", "double"):
        raise t.fail(f"a matrix product of {out.root.dtype}")
    const = [_const(_matrix(view, batched=batched), kind) for view in (left, right)]
    t.used.add("gemm")
    t.lines.append(f"ke::matmul<{kind}>({const[0]}, {const[1]}, {_matrix(out, batched=batched)}{more});")


def _const(matrix: str, kind: str) -> str:
    return matrix.replace(f"ke::Matrix<{kind}>", f"ke::Matrix<const {kind}>", 1)


def _mm(t: Translation, call: ast.Call, result: str | None) -> None:
    batched = ast.unparse(call.func).endswith("bmm")
    _multiply(t, t.view(call.args[0]), t.view(call.args[1]), _out(t, call), batched=batched)


def _addmm(t: Translation, call: ast.Call, result: str | None) -> None:
    batched = ast.unparse(call.func).endswith("baddbmm")
    added, left, right = (t.view(argument) for argument in call.args[:3])
    out = _out(t, call)
    alpha, beta = (float(str(_literal(call, -1, name, 1))) for name in ("alpha", "beta"))
    matrix = _matrix(added, batched=batched, like=out)
    _multiply(t, left, right, out, batched=batched, more=f", {alpha!r}, {matrix}, {beta!r}")


def _mm_plus_mm(t: Translation, call: ast.Call, result: str | None) -> None:
    views = [t.view(argument) for argument in call.args[:4]]
    out = _out(t, call)
    _multiply(t, views[0], views[1], out, batched=False)
    _multiply(t, views[2], views[3], out, batched=False, more=f", 1, {_matrix(out, batched=False, like=out)}, 1")


def _contiguous(t: Translation, view: View, what: str) -> str:
    if not view.is_contiguous:
        raise t.fail(f"{what} of a tensor that is not contiguous")
    return view.pointer(const=True)


def _convolution(t: Translation, call: ast.Call, result: str | None) -> None:
    x, weight = t.view(call.args[0]), t.view(call.args[1])
    bias = "nullptr" if isinstance(call.args[2], ast.Constant) else _contiguous(t, t.view(call.args[2]), "a bias")
    stride, padding, dilation, transposed, extra, groups = (ast.literal_eval(node) for node in call.args[3:9])
    kind, spatial = CPP_TYPES[x.root.dtype], len(x.sizes) - 2
    if kind not in ("float", "double") or not 1 <= spatial <= 3 or result is None:
        raise t.fail(f"a convolution of {spatial} dims of {x.root.dtype}")
    sizes = [x.sizes[0], combine("*", weight.sizes[1], number(groups)) if transposed else weight.sizes[0]]
    rows = []
    for n in range(spatial):
        into, taps = x.sizes[n + 2], weight.sizes[n + 2]
        reach = combine("*", number(dilation[n]), combine("-", taps, number(1)))
        if transposed:
            spread = combine("*", combine("-", into, number(1)), number(stride[n]))
            size = combine("+", combine("+", spread, reach), number(extra[n] + 1 - 2 * padding[n]))
        else:
            room = combine("-", combine("+", into, number(2 * padding[n] - 1)), reach)
            size = combine("+", room if stride[n] == 1 else combine("//", room, number(stride[n])), number(1))
        sizes.append(size)
        rows.append((into.text, taps.text, size.text, str(stride[n]), str(padding[n]), str(dilation[n])))
    blank = [("1", "1", "1", "1", "0", "1")] * (3 - spatial)
    columns = [", ".join(column) for column in zip(*(blank + rows), strict=True)]
    window = "ke::Window{" + ", ".join(f"{{{column}}}" for column in columns) + f", {str(bool(transposed)).lower()}}}"
    out = t.new_buffer(result, x.root.dtype, sizes)
    channels = combine("//", x.sizes[1], number(groups))
    filters = combine("//", sizes[1], number(groups))
    pointers = ", ".join(
        (_contiguous(t, x, "a convolution"), _contiguous(t, weight, "a convolution"), bias, out.pointer())
    )
    t.used |= {"gemm", "convolution"}
    t.lines.append(
        f"ke::convolution<{kind}>({pointers}, {sizes[0].text}, {groups}, {channels.text}, {filters.text}, {window});"
    )


def _bucketize(t: Translation, call: ast.Call, result: str | None) -> None:
    swapped = "searchsorted" in ast.unparse(call.func)
    values, boundaries = (t.view(node) for node in (reversed(call.args[:2]) if swapped else call.args[:2]))
    rows, leading = boundaries.sizes[:-1], values.sizes[:-1]
    aligned = not rows or (len(rows) == len(leading) and all(a.same(b) for a, b in zip(rows, leading, strict=True)))
    if not aligned or values.root.dtype != boundaries.root.dtype or result is None:
        raise t.fail("a search of mixed types, or in rows that do not match")
    given = {keyword.arg for keyword in call.keywords if ast.unparse(keyword.value) != "None"}
    if given - {"out_int32", "right"}:
        raise t.fail(ast.unparse(call)[:120])
    dtype = "int32" if _literal(call, 2, "out_int32", False) else "int64"
    right = "true" if _literal(call, 3, "right", False) else "false"
    out = t.new_buffer(result, dtype, values.sizes)
    t.used.add("search")
    t.lines.append(
        f"ke::bucketize<{right}>({_contiguous(t, values, 'a search')}, {product(rows).text}, "
        f"{product(values.sizes[len(rows) :]).text}, {_contiguous(t, boundaries, 'a search')}, "
        f"{boundaries.sizes[-1].text}, {out.pointer()});"
    )


def _cumsum(t: Translation, call: ast.Call, result: str | None) -> None:
    x = t.view(call.args[0])
    dim = int(str(_literal(call, 1, "dim", 0)))
    given = {keyword.arg for keyword in call.keywords if ast.unparse(keyword.value) != "None"}
    if result is None or given - {"dim"} or not x.sizes:
        raise t.fail(ast.unparse(call)[:120])
    if x.root.dtype not in ("float32", "float64", "int64"):
        raise t.fail(f"a cumulative sum of {x.root.dtype}")
    dim %= len(x.sizes)
    out = t.new_buffer(result, x.root.dtype, x.sizes)
    t.used.add("search")
    t.lines.append(
        f"ke::cumsum({_contiguous(t, x, 'a cumulative sum')}, {out.pointer()}, {product(x.sizes[:dim]).text}, "
        f"{x.sizes[dim].text}, {product(x.sizes[dim + 1 :]).text});"
    )


CALLS: dict[str, Handler] = {
    "extern_kernels.mm": _mm,
    "extern_kernels.bmm": _mm,
    "extern_kernels.addmm": _addmm,
    "extern_kernels.baddbmm": _addmm,
    "extern_kernels._mm_plus_mm": _mm_plus_mm,
    "torch.ops.kernelevolve.convolution.default": _convolution,
    "torch.ops.aten.bucketize.Tensor": _bucketize,
    "torch.ops.aten.searchsorted.Tensor": _bucketize,
    "torch.ops.aten.cumsum.default": _cumsum,
}
