"""Root-mean-square normalisation with a weight, one program per row: its first columns wait in shared memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

EPSILON: tl.constexpr = tl.constexpr(1e-6)


@triton.jit
def normalise(x, weight, out, R, C, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    if row >= R:
        return
    first = tl.arange(0, WIDTH)
    held = tlx.local_alloc((WIDTH,), x.dtype.element_ty, 1)
    here = tlx.local_view(held, 0)
    part = tl.load(x + row * C + first, mask=first < C, other=0.0)
    tlx.local_store(here, part)
    squares = part.to(tl.float32) * part.to(tl.float32)
    for begin in range(WIDTH, C, WIDTH):
        at = begin + first
        more = tl.load(x + row * C + at, mask=at < C, other=0.0).to(tl.float32)
        squares += more * more
    scale = tl.rsqrt(tl.sum(squares) / C + EPSILON)
    for begin in range(WIDTH, C, WIDTH):
        at = begin + first
        more = tl.load(x + row * C + at, mask=at < C, other=0.0).to(tl.float32)
        gain = tl.load(weight + at, mask=at < C, other=0.0).to(tl.float32)
        tl.store(out + row * C + at, (more * scale * gain).to(out.dtype.element_ty), mask=at < C)
    gain = tl.load(weight + first, mask=first < C, other=0.0).to(tl.float32)
    kept = tlx.local_load(here).to(tl.float32)
    tl.store(out + row * C + first, (kept * scale * gain).to(out.dtype.element_ty), mask=first < C)
