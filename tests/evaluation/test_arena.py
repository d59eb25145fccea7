"""Shared memory: poison, guard bands, and nothing else moved."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelevolve.evaluation.arena import BAND, POISON, Arena, Layout


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 700), min_size=1, max_size=6), st.data())
def test_every_byte_beside_a_tensor_is_guarded(sizes: list[int], data: st.DataObject) -> None:
    names = {f"t{index}": size for index, size in enumerate(sizes)}
    layout = Layout.of(names)
    arena = Arena(2 * layout.n_bytes)
    try:
        arena.prepare(1, layout, {}, names)
        assert arena.trespasses(1, layout, names) is None
        name = data.draw(st.sampled_from(sorted(names)))
        start = layout.n_bytes + layout.regions[name].offset
        step = data.draw(st.sampled_from([-1, -256, names[name], names[name] + 255]))
        arena.bytes[start + step] ^= 1
        assert arena.trespasses(1, layout, names) is not None
    finally:
        arena.close()


def test_prepare_writes_contents_and_poison() -> None:
    layout = Layout.of({"x": 8, "y": 16})
    arena = Arena(layout.n_bytes)
    arena.prepare(0, layout, {"x": np.arange(8, dtype=np.uint8)}, {"y": 16})
    assert arena.view(0, layout, "x", 8).tolist() == list(range(8))
    assert set(arena.view(0, layout, "y", 16).tolist()) == {POISON}
    assert arena.bytes[layout.regions["y"].offset - 1] == BAND
    arena.close()


def test_a_smaller_draw_in_a_larger_region_is_guarded_at_its_own_end() -> None:
    layout = Layout.of({"y": 100})
    arena = Arena(layout.n_bytes)
    arena.prepare(0, layout, {}, {"y": 40})
    arena.bytes[layout.regions["y"].offset + 40] = 0
    assert arena.trespasses(0, layout, {"y": 40}) == "y"
    arena.close()


def test_a_wiped_arena_holds_nothing_of_whoever_worked_there() -> None:
    arena = Arena(8192)
    arena.bytes[:] = np.arange(8192, dtype=np.uint64).astype(np.uint8)
    arena.wipe()
    assert set(arena.bytes.tolist()) == {POISON}
    arena.close()
