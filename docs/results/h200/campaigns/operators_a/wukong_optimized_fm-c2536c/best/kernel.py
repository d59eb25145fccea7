// wukong_optimized_fm: step 2 of campaign wukong_optimized_fm-c2536c
# recipe: gram_tiles
# family: wukong_optimized_fm
# summary: x x^T of a sample stays in registers and meets y tile by tile, so that only x, y and out pass through memory
# isa: sm_90
# dtype: float16 bfloat16
# knob BLOCK_K = 128 256 64
# knob TILES = 6 3 9 18 2
# knob WARPS = 4 8 2
# knob PER_SM = 3 4 2 5 6
# knob WIDE_BLOCK_K = 128 64 256
# knob WIDE_TILES = 4 2 1
# knob WIDE_PER_SM = 3 2 4
# knob STAGES = 4 3 2 5
# order: 20
#
# (x x^T) y costs N*N*(D+K) products instead of 2*N*D*K. Rows of x x^T are brought to one size before they are rounded:
# the factor is put back in float32, so that nothing overflows a 16-bit format on the way. What rounding takes away from
# x x^T makes a second product: where two large terms cancel, half a step of one of them is a wrong answer. WIDE_: for
# more than 32 rows.
import triton
import triton.language as tl


@triton.jit
def rounded(g, kind: tl.constexpr):
    """g as `factor * (rounded + rest)`, the largest of every row near 1024."""
    largest = tl.max(tl.abs(g), 1)
    factor = tl.where(largest > 0.0, largest, 1.0) * (1.0 / 1024)
    g = g / factor[:, None]
    left = g.to(kind)
    return left, (g - left.to(tl.float32)).to(kind), factor


@triton.jit
def gram(x, i0, j0, N, D, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    """[ROWS,ROWS]: rows i0.. of x times rows j0.."""
    i, j, d = i0 + tl.arange(0, ROWS), j0 + tl.arange(0, ROWS), tl.arange(0, BLOCK_D)
    g = tl.zeros([ROWS, ROWS], tl.float32)
    for d0 in range(0, D, BLOCK_D):
        inside = (d0 + d < D)[None, :]
        a = tl.load(x + i[:, None] * D + (d0 + d)[None, :], mask=(i < N)[:, None] & inside, other=0.0)
        b = tl.load(x + j[:, None] * D + (d0 + d)[None, :], mask=(j < N)[:, None] & inside, other=0.0)
        g = tl.dot(a, tl.trans(b), g)
    return g


@triton.jit
def few_rows(
    x, y, out, first, N, D, K, ROWS: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_K: tl.constexpr, TILES: tl.constexpr
):  # fmt: skip
    kind: tl.constexpr = x.dtype.element_ty
    n, d = tl.arange(0, ROWS), tl.arange(0, BLOCK_D)
    g = tl.zeros([ROWS, ROWS], tl.float32)
    for d0 in range(0, D, BLOCK_D):
        a = tl.load(x + n[:, None] * D + (d0 + d)[None, :], mask=(n < N)[:, None] & (d0 + d < D)[None, :], other=0.0)
        g = tl.dot(a, tl.trans(a), g)
    left, rest, factor = rounded(g, kind)
    for k0 in range(first, tl.minimum(first + TILES * BLOCK_K, K), BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K)
        at = n[:, None] * K + k[None, :]
        inside = (n < N)[:, None] & (k < K)[None, :]
        value = tl.load(y + at, mask=inside, other=0.0, eviction_policy="evict_first")
        value = tl.dot(rest, value, tl.dot(left, value)) * factor[:, None]
        tl.store(out + at, value.to(kind), mask=inside)


@triton.jit
def many_rows(
    x, y, out, first, N, D, K, BLOCK_D: tl.constexpr, BLOCK_K: tl.constexpr, TILES: tl.constexpr
):  # fmt: skip
    kind: tl.constexpr = x.dtype.element_ty
    n = tl.arange(0, 64)
    for k0 in range(first, tl.minimum(first + TILES * BLOCK_K, K), 128):
        k = k0 + tl.arange(0, 128)
        for i0 in range(0, N, 64):
            acc = tl.zeros([64, 128], tl.float32)
            for j0 in range(0, N, 64):
                left, rest, factor = rounded(gram(x, i0, j0, N, D, 64, BLOCK_D), kind)
                inside = (j0 + n < N)[:, None] & (k < K)[None, :]
                value = tl.load(y + (j0 + n)[:, None] * K + k[None, :], mask=inside, other=0.0)
                acc += tl.dot(rest, value, tl.dot(left, value)) * factor[:, None]
            inside = (i0 + n < N)[:, None] & (k < K)[None, :]
            tl.store(out + (i0 + n)[:, None] * K + k[None, :], acc.to(kind), mask=inside)


@triton.jit
def by_samples(
    x, y, out, B, N, D, K, ROWS: tl.constexpr, BLOCK_K: tl.constexpr, TILES: tl.constexpr
):  # fmt: skip
    parts = tl.cdiv(K, TILES * BLOCK_K)
    for place in range(tl.program_id(0), B * parts, tl.num_programs(0)):
        b = (place // parts).to(tl.int64)
        first = place % parts * (TILES * BLOCK_K)
        if ROWS > 0:
            few_rows(x + b * N * D, y + b * N * K, out + b * N * K, first, N, D, K, ROWS, 32, BLOCK_K, TILES)
        else:
            many_rows(x + b * N * D, y + b * N * K, out + b * N * K, first, N, D, K, 32, BLOCK_K, TILES)


@triton.jit
def by_multiples(
    x, y, out, B, N, D, K, ROWS: tl.constexpr, BLOCK_K: tl.constexpr, TILES: tl.constexpr
):  # fmt: skip
    """What a row's length is a multiple of decides how wide it can be read; the compiler sees it in these products."""
    if (K % 8 == 0) & (D % 8 == 0):
        by_samples(x, y, out, B, N, D // 8 * 8, K // 8 * 8, ROWS, BLOCK_K, TILES)
    elif (K % 2 == 0) & (D % 8 == 0):
        by_samples(x, y, out, B, N, D // 8 * 8, K // 2 * 2, ROWS, BLOCK_K, TILES)
    else:
        by_samples(x, y, out, B, N, D, K, ROWS, BLOCK_K, TILES)


@triton.jit
def up_to_32(x, y, out, B, N, D, K, BLOCK_K: tl.constexpr, TILES: tl.constexpr):
    if N <= 32:
        by_multiples(x, y, out, B, N, D, K, 32, BLOCK_K, TILES)


@triton.jit
def more_rows(x, y, out, B, N, D, K, BLOCK_K: tl.constexpr, TILES: tl.constexpr):
    if (N > 32) & (N <= 64):
        by_multiples(x, y, out, B, N, D, K, 64, BLOCK_K, TILES)
    elif N > 64:
        by_samples(x, y, out, B, N, D, K, 0, BLOCK_K, TILES)
