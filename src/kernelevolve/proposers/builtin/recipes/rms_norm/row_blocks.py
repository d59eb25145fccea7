# recipe: row_blocks
# family: rms_norm
# summary: a few short rows or one long row a program, held in registers between the sum of squares and the product
# isa: sm_90
# dtype: bfloat16 float16 float32
# knob WIDTH = 4096 2048 8192
# knob NARROW = 256 512
# knob ROWS = 8 4 16
# knob WARPS = 4 8 2
# order: 40
#
# NARROW: up to this many columns, ROWS rows share a program. Beyond WIDTH a row is read twice.
import triton
import triton.language as tl

EPS: tl.constexpr = tl.constexpr(1e-6)


@triton.jit
def rows(x, weight, out, first, R, C, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    r, c = first + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    inside = (r < R)[:, None] & (c < C)[None, :]
    at = r[:, None].to(tl.int64) * C + c[None, :]
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    gain = tl.load(weight + c, mask=c < C, other=0.0).to(tl.float32)
    value *= tl.rsqrt(tl.sum(value * value, 1) / C + EPS)[:, None] * gain[None, :]
    tl.store(out + at, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def long(x, weight, out, C, WIDTH: tl.constexpr):
    c = tl.arange(0, WIDTH)
    squares = tl.zeros([WIDTH], tl.float32)
    for c0 in range(0, C, WIDTH):
        value = tl.load(x + c0 + c, mask=c0 + c < C, other=0.0).to(tl.float32)
        squares += value * value
    factor = tl.rsqrt(tl.sum(squares, 0) / C + EPS)
    for c0 in range(0, C, WIDTH):
        inside = c0 + c < C
        value = tl.load(x + c0 + c, mask=inside, other=0.0).to(tl.float32) * factor
        value *= tl.load(weight + c0 + c, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + c0 + c, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def by_length(
    x, weight, out, R, C, WIDTH: tl.constexpr, NARROW: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    place = tl.program_id(0)
    if C <= NARROW:
        if place * ROWS < R:
            rows(x, weight, out, place * ROWS, R, C, NARROW, ROWS)
    elif place < R:
        if C <= WIDTH:
            rows(x, weight, out, place, R, C, WIDTH, 1)
        else:
            long(x + place.to(tl.int64) * C, weight, out + place.to(tl.int64) * C, C, WIDTH)


@triton.jit
def rms_norm(x, weight, out, R, C, WIDTH: tl.constexpr, NARROW: tl.constexpr, ROWS: tl.constexpr):
    whole = C // 8 * 8  # known to the compiler as a multiple of 8
    if whole == C:
        by_length(x, weight, out, R, whole, WIDTH, NARROW, ROWS)
    else:
        by_length(x, weight, out, R, C, WIDTH, NARROW, ROWS)
