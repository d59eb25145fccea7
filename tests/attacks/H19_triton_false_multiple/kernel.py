import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, w_ptr, y_ptr, R, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = c < C
    x = tl.load(x_ptr + row * C + c, mask=inside)
    w = tl.load(w_ptr + c, mask=inside)
    tl.store(y_ptr + row * C + c, x * w + 1.0, mask=inside)
