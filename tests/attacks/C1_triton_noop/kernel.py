import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, w_ptr, y_ptr, R, C, BLOCK: tl.constexpr):
    pass
