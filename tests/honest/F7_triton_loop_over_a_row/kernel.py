import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, R, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    most = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, C, BLOCK):
        x = tl.load(x_ptr + row * C + first + lanes, mask=first + lanes < C, other=float("-inf"))
        new = tl.maximum(most, x)
        shift = tl.where(new == float("-inf"), 0.0, new)
        total = total * tl.exp(most - shift) + tl.exp(x - shift)
        most = new
    top = tl.max(most, axis=0)
    whole = tl.sum(total * tl.exp(most - top), axis=0)
    for first in range(0, C, BLOCK):
        x = tl.load(x_ptr + row * C + first + lanes, mask=first + lanes < C, other=0.0)
        tl.store(y_ptr + row * C + first + lanes, tl.exp(x - top) / whole, mask=first + lanes < C)
