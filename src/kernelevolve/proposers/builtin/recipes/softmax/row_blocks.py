# recipe: row_blocks
# family: softmax
# summary: short rows stay in registers, read once; long ones are read twice, the maximum and the sum taken in one walk
# isa: sm_90
# dtype: float16 bfloat16 float32
# knob WIDTH = 4096 2048 1024 8192
# knob LONG = 4096 8192 2048
# knob WARPS = 8 4 16
# knob STAGES = 3 1 2
# order: 40
import triton
import triton.language as tl


@triton.jit
def short(x, out, C, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    value = tl.load(x + c, mask=c < C, other=-float("inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + c, (value / tl.sum(value, 0)).to(out.dtype.element_ty), mask=c < C)


@triton.jit
def long(x, out, C, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    largest = tl.full([BLOCK], -1e38, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for c0 in range(0, C, BLOCK):
        value = tl.load(x + c0 + c, mask=c0 + c < C, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(largest, value)
        total = total * tl.exp(largest - higher) + tl.exp(value - higher)
        largest = higher
    top = tl.max(largest, 0)
    factor = 1.0 / tl.sum(total * tl.exp(largest - top), 0)
    for c0 in range(0, C, BLOCK):
        value = tl.load(x + c0 + c, mask=c0 + c < C, other=-float("inf")).to(tl.float32)
        tl.store(out + c0 + c, (tl.exp(value - top) * factor).to(out.dtype.element_ty), mask=c0 + c < C)


@triton.jit
def by_length(x, out, C, WIDTH: tl.constexpr, LONG: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    if C <= WIDTH:
        short(x + row, out + row, C, WIDTH)
    else:
        long(x + row, out + row, C, LONG)


@triton.jit
def softmax(x, out, R, C, WIDTH: tl.constexpr, LONG: tl.constexpr):
    if tl.program_id(0) >= R:
        return
    whole = C // 8 * 8  # known to the compiler as a multiple of 8
    if whole == C:
        by_length(x, out, whole, WIDTH, LONG)
    else:
        by_length(x, out, C, WIDTH, LONG)
