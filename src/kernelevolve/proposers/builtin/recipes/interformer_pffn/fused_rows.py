# recipe: fused_rows
# family: interformer_pffn
# summary: a block of rows passes both products and norms on chip; the first norm is applied after the second product
# isa: sm_90
# dtype: float16 bfloat16
# knob BLOCK_N = 64 128
# knob BLOCK_K = 32 64 16
# knob WARPS = 4 8 16
# knob STAGES = 2 3 1
# knob SPLIT = 0 1
# order: 20
#
# rms_norm divides a whole row by one number, so (a / r * g1) @ w2 = (a * g1) @ w2 / r: the hidden width is walked
# through in pieces and never stored. Widths up to 256 stay in registers, as a power of two or as the sum of two.
# SPLIT: what rounding the hidden values to 16 bits takes away is multiplied too, so only the result is rounded.
import triton
import triton.language as tl

EPS: tl.constexpr = tl.constexpr(1e-6)


@triton.jit
def gelu(h):
    return 0.5 * h * (1.0 + tl.erf(h * 0.7071067811865476))


@triton.jit
def hidden_piece(h, b1, k, K):
    """gelu of a piece with its bias; zero beyond the hidden width, where h is zero."""
    return gelu(h + tl.load(b1 + k, mask=k < K, other=0.0).to(tl.float32)[None, :])


@triton.jit
def weight_piece(w, i, j, n_rows, n_columns):
    return tl.load(
        w + i[:, None] * n_columns + j[None, :], mask=(i < n_rows)[:, None] & (j < n_columns)[None, :], other=0.0
    )


@triton.jit
def add_product(p, w, z, SPLIT: tl.constexpr):
    """z + p @ w on the tensor cores, p as one or as the sum of two numbers of w's type."""
    high = p.to(w.dtype)
    z = tl.dot(high, w, z)
    if SPLIT > 0:
        z = tl.dot((p - high.to(tl.float32)).to(w.dtype), w, z)
    return z


@triton.jit
def with_bias(z, factor, b2, d, D):
    return z * factor[:, None] + tl.load(b2 + d, mask=d < D, other=0.0).to(tl.float32)[None, :]


@triton.jit
def put(z, factor, g2, out, n, d, N, D):
    value = z * factor[:, None] * tl.load(g2 + d, mask=d < D, other=0.0).to(tl.float32)[None, :]
    tl.store(
        out + n[:, None] * D + d[None, :], value.to(out.dtype.element_ty), mask=(n < N)[:, None] & (d < D)[None, :]
    )


@triton.jit
def narrow(
    x, w1, b1, g1, w2, b2, g2, out, b, n0, N, D, K,
    WIDTH: tl.constexpr, MORE: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """D up to WIDTH + MORE."""
    x, out, w1, w2 = x + b * N * D, out + b * N * D, w1 + b * D * K, w2 + b * D * K
    b1, b2 = b1 + b * K, b2 + b * D
    n, d, e = n0 + tl.arange(0, BLOCK_N), tl.arange(0, WIDTH), tl.arange(0, WIDTH)
    xa = weight_piece(x, n, d, N, D)
    xb = xa
    z = tl.zeros([BLOCK_N, WIDTH], tl.float32)
    y = z
    if MORE > 0:
        e = WIDTH + tl.arange(0, MORE)
        xb = weight_piece(x, n, e, N, D)
        y = tl.zeros([BLOCK_N, MORE], tl.float32)
    squares = tl.zeros([BLOCK_N], tl.float32)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K)
        h = tl.dot(xa, weight_piece(w1, d, k, D, K))
        if MORE > 0:
            h = tl.dot(xb, weight_piece(w1, e, k, D, K), h)
        h = hidden_piece(h, b1, k, K)
        squares += tl.sum(h * h, 1)
        p = h * tl.load(g1 + k, mask=k < K, other=0.0).to(tl.float32)[None, :]
        z = add_product(p, weight_piece(w2, k, d, K, D), z, SPLIT)
        if MORE > 0:
            y = add_product(p, weight_piece(w2, k, e, K, D), y, SPLIT)
    factor = tl.rsqrt(squares / K + EPS)
    z = with_bias(z, factor, b2, d, D)
    total = tl.sum(z * z, 1)
    if MORE > 0:
        y = with_bias(y, factor, b2, e, D)
        total += tl.sum(y * y, 1)
    last = tl.rsqrt(total / D + EPS)
    put(z, last, g2, out, n, d, N, D)
    if MORE > 0:
        put(y, last, g2, out, n, e, N, D)


@triton.jit
def wide(
    x, w1, b1, g1, w2, b2, g2, out, b, n0, N, D, K,
    BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """Any D: 128 columns of the result at a time, kept in `out` until the whole row's size is known."""
    kind: tl.constexpr = x.dtype.element_ty
    x, out, w1, w2 = x + b * N * D, out + b * N * D, w1 + b * D * K, w2 + b * D * K
    b1, b2 = b1 + b * K, b2 + b * D
    n = n0 + tl.arange(0, BLOCK_N)
    total = tl.zeros([BLOCK_N], tl.float32)
    for e0 in range(0, D, 128):
        e = e0 + tl.arange(0, 128)
        z = tl.zeros([BLOCK_N, 128], tl.float32)
        squares = tl.zeros([BLOCK_N], tl.float32)
        for k0 in range(0, K, BLOCK_K):
            k = k0 + tl.arange(0, BLOCK_K)
            h = tl.zeros([BLOCK_N, BLOCK_K], tl.float32)
            for d0 in range(0, D, 64):
                d = d0 + tl.arange(0, 64)
                h = tl.dot(weight_piece(x, n, d, N, D), weight_piece(w1, d, k, D, K), h)
            h = hidden_piece(h, b1, k, K)
            squares += tl.sum(h * h, 1)
            p = h * tl.load(g1 + k, mask=k < K, other=0.0).to(tl.float32)[None, :]
            z = add_product(p, weight_piece(w2, k, e, K, D), z, SPLIT)
        z = with_bias(z, tl.rsqrt(squares / K + EPS), b2, e, D)
        total += tl.sum(z * z, 1)
        tl.store(out + n[:, None] * D + e[None, :], z.to(kind), mask=(n < N)[:, None] & (e < D)[None, :])
    tl.debug_barrier()
    last = tl.rsqrt(total / D + EPS)
    for e0 in range(0, D, 128):
        e = e0 + tl.arange(0, 128)
        put(weight_piece(out, n, e, N, D).to(tl.float32), last, g2, out, n, e, N, D)


@triton.jit
def pffn(
    x, w1, b1, g1, w2, b2, g2, out, B, N, D, K,
    BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(N, BLOCK_N)
    b = (tl.program_id(0) // tiles).to(tl.int64)
    if b >= B:
        return
    n0 = tl.program_id(0) % tiles * BLOCK_N
    D8, K8 = D // 8 * 8, K // 8 * 8  # known to the compiler as multiples of 8
    whole = (D8 == D) & (K8 == K)
    if whole & (D <= 96):
        narrow(x, w1, b1, g1, w2, b2, g2, out, b, n0, N, D8, K8, 64, 32, BLOCK_N, BLOCK_K, SPLIT)
    elif whole & (D <= 192):
        narrow(x, w1, b1, g1, w2, b2, g2, out, b, n0, N, D8, K8, 128, 64, BLOCK_N, BLOCK_K, SPLIT)
    elif whole & (D <= 256):
        narrow(x, w1, b1, g1, w2, b2, g2, out, b, n0, N, D8, K8, 256, 0, BLOCK_N, BLOCK_K, SPLIT)
    else:
        wide(x, w1, b1, g1, w2, b2, g2, out, b, n0, N, D, K, BLOCK_N, BLOCK_K, SPLIT)
