import triton
import triton.language as tl


@triton.jit
def multiply(a_ptr, b_ptr, c_ptr, M, K, N, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)
    k = tl.arange(0, TILE)
    total = tl.zeros([TILE, TILE], tl.float32)
    for first in range(0, K, TILE):
        a = tl.load(a_ptr + i[:, None] * K + first + k, mask=(i[:, None] < M) & (first + k < K), other=0.0)
        b = tl.load(b_ptr + (first + k)[:, None] * N + j, mask=((first + k)[:, None] < K) & (j < N), other=0.0)
        total += tl.dot(a, b, input_precision="tf32")
    tl.store(c_ptr + i[:, None] * N + j, total, mask=(i[:, None] < M) & (j < N))
