import triton
import triton.language as tl


@triton.jit
def clear(sums_ptr, R, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums_ptr + r, tl.zeros([BLOCK], tl.float32), mask=r < R)


@triton.jit
def add(x_ptr, sums_ptr, R, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C, other=0.0)
    tl.atomic_add(sums_ptr + row, tl.sum(x, axis=0))


@triton.jit
def finish(sums_ptr, y_ptr, R, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + r, tl.load(sums_ptr + r, mask=r < R), mask=r < R)
