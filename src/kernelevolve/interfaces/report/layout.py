"""Where the tree's nodes go. Depth runs left to right; childless nodes sit packed in a block behind their parent,
failures smallest, so that 500 nodes still fit one screen."""

from __future__ import annotations

from dataclasses import dataclass

from kernelevolve.interfaces.record import Record

CELL = 9.0
GAP = 7.0
"""Distances in SVG units: within a block of leaves, between subtrees."""
PAGE = 1080.0
"""Width to aim at; deep trees get narrower columns, down to two leaves wide."""


@dataclass(frozen=True, kw_only=True)
class Pitch:
    """Distance between depths, and how many leaves fit side by side in it."""

    column: float
    n_wide: int


def pitch_for(depth: int) -> Pitch:
    column = min(64.0, max(30.0, PAGE / (depth + 1)))
    return Pitch(column=column, n_wide=int((column - 12.0) / CELL))


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A node's place. `leaf` ones are drawn small and without an edge of their own."""

    step: int
    x: float
    y: float
    leaf: bool


@dataclass(frozen=True, kw_only=True)
class Block:
    """The childless children of one node, as a box: left, top, width, height."""

    parent: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, kw_only=True)
class Layout:
    spots: dict[int, Spot]
    blocks: list[Block]
    edges: list[tuple[int, int]]
    left: float
    top: float
    width: float
    height: float


@dataclass
class _Subtree:
    """Relative to its root at y = 0: the vertical extent used in each depth, root first."""

    extents: list[tuple[float, float]]
    offsets: dict[int, float]


ROOT = 0
"""The reference itself: the parent of every draft."""


def layout_tree(record: Record, lineage: list[int]) -> Layout:
    """Linear in nodes times depth. Works on any forest; second parents of a cross do not move anything."""
    spine = set(lineage)
    inner, leaves = _split(record, spine)
    pitch = pitch_for(_depth(inner))
    placed: dict[int, _Subtree] = {}
    for step in _post_order(inner):
        placed[step] = _pack(step, inner.get(step, []), leaves.get(step, []), placed, pitch, spine)
    spots, blocks, edges = _absolute(inner, leaves, placed, pitch)
    xs = [spot.x for spot in spots.values()]
    ys = [spot.y for spot in spots.values()]
    margin, right = 26.0, 40.0
    width, height = max(xs) - min(xs) + margin + right, max(ys) - min(ys) + 2 * margin
    spare_x, spare_y = max(0.0, 660.0 - width), max(0.0, 150.0 - height)  # a small tree is not blown up to full width
    return Layout(
        spots=spots, blocks=blocks, edges=edges,
        left=min(xs) - margin - spare_x / 2, top=min(ys) - margin - spare_y / 2,
        width=width + spare_x, height=height + spare_y,
    )  # fmt: skip


def _split(record: Record, keep: set[int]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Children that carry a subtree (or belong to the lineage) and children that end there, failures last."""
    children = {parent if parent is not None else ROOT: steps for parent, steps in record.children().items()}
    inner: dict[int, list[int]] = {ROOT: []}
    leaves: dict[int, list[int]] = {}
    for parent, steps in children.items():
        grown = [step for step in steps if step in children and step not in keep]
        spine = [step for step in steps if step in keep]
        inner[parent] = [*grown[::2], *spine, *grown[1::2]]
        ends = [step for step in steps if step not in children and step not in keep]
        leaves[parent] = sorted(ends, key=lambda step: (not record.rows[step].correct, record.rows[step].status, step))
    return inner, leaves


def _post_order(inner: dict[int, list[int]]) -> list[int]:
    order, stack = [], [ROOT]
    while stack:
        step = stack.pop()
        order.append(step)
        stack.extend(inner.get(step, []))
    return order[::-1]


def _depth(inner: dict[int, list[int]]) -> int:
    """Generations with a subtree of their own, plus the one of the last leaves."""
    depth, level = 0, [ROOT]
    while level:
        depth += 1
        level = [child for step in level for child in inner.get(step, [])]
    return depth


def _pack(
    step: int, children: list[int], ends: list[int], placed: dict[int, _Subtree], pitch: Pitch, spine: set[int]
) -> _Subtree:
    """Children's subtrees one below another as closely as their outlines allow; the lineage runs straight on."""
    bottoms: list[float] = []
    offsets: dict[int, float] = {}
    outlines = [(child, placed[child].extents) for child in children]
    middle_at = next((index for index, child in enumerate(children) if child in spine), len(children) - 1)
    if ends:
        rows = -(-len(ends) // pitch.n_wide)
        outlines.insert(middle_at + 1, (-step - 1, [(-CELL / 2, (rows - 0.5) * CELL)]))
    for child, extents in outlines:
        shift = max(
            (bottoms[depth] + GAP - top for depth, (top, _) in enumerate(extents) if depth < len(bottoms)), default=0.0
        )
        offsets[child] = shift
        for depth, (_, bottom) in enumerate(extents):
            if depth < len(bottoms):
                bottoms[depth] = max(bottoms[depth], bottom + shift)
            else:
                bottoms.append(bottom + shift)
    if not offsets:
        return _Subtree(extents=[(-6.0, 6.0)], offsets={})
    straight = [shift for child, shift in offsets.items() if child in spine]
    middle = straight[0] if straight else (min(offsets.values()) + max(offsets.values())) / 2
    offsets = {child: shift - middle for child, shift in offsets.items()}
    return _Subtree(extents=[(-6.0, 6.0), *_union(outlines, offsets)], offsets=offsets)


def _union(
    outlines: list[tuple[int, list[tuple[float, float]]]], offsets: dict[int, float]
) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for child, extents in outlines:
        for depth, (top, bottom) in enumerate(extents):
            top, bottom = top + offsets[child], bottom + offsets[child]
            if depth < len(merged):
                merged[depth] = (min(merged[depth][0], top), max(merged[depth][1], bottom))
            else:
                merged.append((top, bottom))
    return merged


def _absolute(
    inner: dict[int, list[int]], leaves: dict[int, list[int]], placed: dict[int, _Subtree], pitch: Pitch
) -> tuple[dict[int, Spot], list[Block], list[tuple[int, int]]]:
    spots = {ROOT: Spot(step=ROOT, x=0.0, y=0.0, leaf=False)}
    blocks: list[Block] = []
    edges: list[tuple[int, int]] = []
    stack = [ROOT]
    while stack:
        step = stack.pop()
        here, offsets = spots[step], placed[step].offsets
        for child in inner.get(step, []):
            spots[child] = Spot(step=child, x=here.x + pitch.column, y=here.y + offsets[child], leaf=False)
            edges.append((step, child))
            stack.append(child)
        ends = leaves.get(step, [])
        if not ends:
            continue
        left, top = here.x + pitch.column - 0.22 * pitch.column, here.y + offsets[-step - 1]
        for index, end in enumerate(ends):
            x, y = left + index % pitch.n_wide * CELL, top + index // pitch.n_wide * CELL
            spots[end] = Spot(step=end, x=x, y=y, leaf=True)
        n_rows, n_columns = -(-len(ends) // pitch.n_wide), min(len(ends), pitch.n_wide)
        box = (left - CELL / 2 - 1, top - CELL / 2 - 1, n_columns * CELL + 2, n_rows * CELL + 2)
        blocks.append(Block(parent=step, x=box[0], y=box[1], width=box[2], height=box[3]))
    return spots, blocks, edges
