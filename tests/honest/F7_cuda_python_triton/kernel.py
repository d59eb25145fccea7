import triton
import triton.language as tl


@triton.jit
def scale(x, w, y, C, BLOCK: tl.constexpr):
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < C
    at = tl.program_id(0).to(tl.int64) * C + columns
    tl.store(y + at, tl.load(x + at, mask=inside) * tl.load(w + columns, mask=inside) + 1.0, mask=inside)


def row_scale(x, w, y, R, C):
    if R * C == 0:
        return
    BLOCK = min(4096, triton.next_power_of_2(C))
    scale[(R, triton.cdiv(C, BLOCK))](x, w, y, C, BLOCK=BLOCK, num_warps=4 if BLOCK < 2048 else 8)
