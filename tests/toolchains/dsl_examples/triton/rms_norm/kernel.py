"""Root-mean-square normalisation with a weight, one program per row, in pieces of WIDTH columns."""

import triton
import triton.language as tl

EPSILON: tl.constexpr = tl.constexpr(1e-6)


@triton.jit
def normalise(x, weight, out, R, C, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    if row >= R:
        return
    squares = tl.zeros([WIDTH], tl.float32)
    for first in range(0, C, WIDTH):
        at = first + tl.arange(0, WIDTH)
        part = tl.load(x + row * C + at, mask=at < C, other=0.0).to(tl.float32)
        squares += part * part
    scale = tl.rsqrt(tl.sum(squares) / C + EPSILON)
    for first in range(0, C, WIDTH):
        at = first + tl.arange(0, WIDTH)
        inside = at < C
        gain = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
        part = tl.load(x + row * C + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row * C + at, (part * scale * gain).to(out.dtype.element_ty), mask=inside)
