"""Root-mean-square normalisation with a weight, one program per row; who holds which column is written out."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

EPSILON: gl.constexpr = gl.constexpr(1e-6)


@gluon.jit
def normalise(x, weight, out, R, C, WIDTH: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([8], [32], [gl.num_warps()], [0])
    row = gl.program_id(0).to(gl.int64)
    if row >= R:
        return
    first = gl.arange(0, WIDTH, layout)
    squares = gl.zeros([WIDTH], gl.float32, layout)
    for begin in range(0, C, WIDTH):
        at = begin + first
        part = gl.load(x + row * C + at, mask=at < C, other=0.0).to(gl.float32)
        squares += part * part
    scale = gl.rsqrt(gl.sum(squares, 0) / C + EPSILON)
    for begin in range(0, C, WIDTH):
        at = begin + first
        gain = gl.load(weight + at, mask=at < C, other=0.0).to(gl.float32)
        part = gl.load(x + row * C + at, mask=at < C, other=0.0).to(gl.float32)
        gl.store(out + row * C + at, (part * scale * gain).to(out.dtype.element_ty), mask=at < C)
