"""Constraints between axes: `len_indptr == batch_size + 1`, `seq_len % 16 == 0`. Parsed and computed, never run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MAX_CHARACTERS = 200
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Div: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISON: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """`axis` and `expression`: the constraint defines that axis. Otherwise it is a test of the free axes."""

    tree: ast.Compare
    fixed: Mapping[str, int]
    axis: str = ""
    expression: str = ""

    def holds(self, shape: Mapping[str, int]) -> bool:
        """Whether the sizes pass; a defined axis passes by its definition."""
        if self.axis:
            return True
        sizes = {**self.fixed, **shape}
        try:
            values = [_value(node, sizes) for node in (self.tree.left, *self.tree.comparators)]
        except (ZeroDivisionError, KeyError):
            return False
        pairs = zip(self.tree.ops, values, values[1:], strict=False)
        return all(_COMPARISON[type(op)](left, right) for op, left, right in pairs)


def parse_constraint(text: str, free: set[str], fixed: Mapping[str, int]) -> Constraint | None:
    """None when it is anything but a comparison of arithmetic over axes."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Compare) or not all(type(op) in _COMPARISON for op in tree.ops):
        return None
    sides = [tree.left, *tree.comparators]
    if not all(_is_arithmetic(side, free | fixed.keys()) for side in sides):
        return None
    if len(sides) == 2 and isinstance(tree.ops[0], ast.Eq):
        for axis, other in (sides, sides[::-1]):
            if isinstance(axis, ast.Name) and axis.id in free and (text := _as_dim(other, fixed, axis.id)):
                return Constraint(tree=tree, fixed=fixed, axis=axis.id, expression=text)
    return Constraint(tree=tree, fixed=fixed)


def _is_arithmetic(node: ast.expr, known: set[str]) -> bool:
    if isinstance(node, ast.BinOp):
        return type(node.op) in _ARITHMETIC and _is_arithmetic(node.left, known) and _is_arithmetic(node.right, known)
    if isinstance(node, ast.Name):
        return node.id in known
    return isinstance(node, ast.Constant) and type(node.value) is int


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.BinOp):
        return _ARITHMETIC[type(node.op)](_value(node.left, sizes), _value(node.right, sizes))
    if isinstance(node, ast.Name):
        return sizes[node.id]
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    return node.value


def _as_dim(node: ast.expr, fixed: Mapping[str, int], defined: str) -> str:
    """The expression in the language of dims, "" when it cannot be said there."""
    if isinstance(node, ast.BinOp):
        symbol = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/"}.get(type(node.op))
        left, right = _as_dim(node.left, fixed, defined), _as_dim(node.right, fixed, defined)
        return f"({left} {symbol} {right})" if symbol and left and right else ""
    if isinstance(node, ast.Name):
        return "" if node.id == defined else str(fixed.get(node.id, node.id))
    return str(node.value) if isinstance(node, ast.Constant) else ""
