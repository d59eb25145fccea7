# recipe: block_rows
# family: hstu_attention
# summary: a block of queries of one sequence and head walks over its keys once; scores never leave the chip
# isa: sm_90
# dtype: bfloat16 float16
# knob BLOCK_M = 128 64
# knob BLOCK_N = 64 32
# knob WARPS = 8 4
# knob STAGES = 3 2
# knob TANH = 1 0
# order: 20
#
# Blocks of keys that every query of the block sees need no mask. Long blocks of queries start first. TANH: silu through
# the hardware's tangent, good to 11 bits, once per score, instead of an exponential and a division. What rounding to
# bfloat16 takes away from a weight makes a second product: 8 bits alone are wrong by more than half a percent of the
# results' size in one element of a thousand.
import triton
import triton.language as tl


@triton.jit
def silu(x, TANH: tl.constexpr):
    if TANH:
        t = tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [0.5 * x], dtype=tl.float32, is_pure=True, pack=1
        )
        return 0.5 * x * (1.0 + t)
    return x / (1.0 + tl.exp(-x))


@triton.jit
def seen(i, j, history, length):
    """A key is seen by itself and by every query of a later rank; all targets share one rank."""
    rank_i, rank_j = tl.minimum(i, history)[:, None], tl.minimum(j, history)[None, :]
    return ((rank_j < rank_i) | (i[:, None] == j[None, :])) & (j < length)[None, :]


@triton.jit
def rows(base, first, r, d, length, step, D):
    inside = (first + r < length)[:, None] & (d < D)[None, :]
    return tl.load(base + (first + r)[:, None].to(tl.int64) * step + d[None, :], mask=inside, other=0.0)


@triton.jit
def add_values(acc, weights, values):
    high = weights.to(values.dtype)
    if values.dtype == tl.bfloat16:
        acc = tl.dot((weights - high.to(tl.float32)).to(values.dtype), values, acc)
    return tl.dot(high, values, acc)


@triton.jit
def keys(
    acc, query, k, v, begin, end, i, alpha, history, length, step, D, WIDTH: tl.constexpr, BLOCK_N: tl.constexpr,
    MASKED: tl.constexpr, TANH: tl.constexpr,
):  # fmt: skip
    n, d = tl.arange(0, BLOCK_N), tl.arange(0, WIDTH)
    for j0 in range(begin, end, BLOCK_N):
        scores = tl.dot(query, tl.trans(rows(k, j0, n, d, length, step, D)))
        weights = silu(scores * alpha, TANH)
        if MASKED:
            weights = tl.where(seen(i, j0 + n, history, length), weights, 0.0)
        acc = add_values(acc, weights, rows(v, j0, n, d, length, step, D))
    return acc


@triton.jit
def narrow(
    q, k, v, out, start, head, m0, alpha, history, length, L, H, D, WIDTH: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, TANH: tl.constexpr,
):  # fmt: skip
    """Heads of up to WIDTH."""
    step, place = H * D, (start * H + head) * D
    q, k, v, out = q + place, k + place, v + place, out + place
    m, d = tl.arange(0, BLOCK_M), tl.arange(0, WIDTH)
    query = rows(q, m0, m, d, length, step, D)
    acc = tl.zeros([BLOCK_M, WIDTH], tl.float32)
    free = tl.minimum(m0, history) // BLOCK_N * BLOCK_N
    end = tl.minimum(m0 + BLOCK_M, length)
    acc = keys(acc, query, k, v, 0, free, m0 + m, alpha, history, length, step, D, WIDTH, BLOCK_N, False, TANH)
    acc = keys(acc, query, k, v, free, end, m0 + m, alpha, history, length, step, D, WIDTH, BLOCK_N, True, TANH)
    at = out + (m0 + m)[:, None].to(tl.int64) * step + d[None, :]
    tl.store(at, (acc / L).to(query.dtype), mask=(m0 + m < length)[:, None] & (d < D)[None, :])


@triton.jit
def wide(
    q, k, v, out, start, head, m0, alpha, history, length, L, H, D, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    TANH: tl.constexpr,
):  # fmt: skip
    """Any head: 64 columns of the result at a time, the scores anew for each."""
    step, place = H * D, (start * H + head) * D
    q, k, v, out = q + place, k + place, v + place, out + place
    m, n, d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, 64)
    end = tl.minimum(m0 + BLOCK_M, length)
    for e0 in range(0, D, 64):
        acc = tl.zeros([BLOCK_M, 64], tl.float32)
        for j0 in range(0, end, BLOCK_N):
            scores = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
            for d0 in range(0, D, 64):
                one, other = rows(q, m0, m, d0 + d, length, step, D), rows(k, j0, n, d0 + d, length, step, D)
                scores = tl.dot(one, tl.trans(other), scores)
            weights = tl.where(seen(m0 + m, j0 + n, history, length), silu(scores * alpha, TANH), 0.0)
            acc = add_values(acc, weights, rows(v, j0, n, e0 + d, length, step, D))
        at = out + (m0 + m)[:, None].to(tl.int64) * step + (e0 + d)[None, :]
        tl.store(at, (acc / L).to(q.dtype.element_ty), mask=(m0 + m < length)[:, None] & (e0 + d < D)[None, :])


@triton.jit
def attend(
    q, k, v, offsets, num_targets, out, alpha, B, H, D, L, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    TANH: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(L, BLOCK_M)
    m0 = (tiles - 1 - tl.program_id(0) % tiles) * BLOCK_M
    head, b = tl.program_id(0) // tiles % H, tl.program_id(0) // tiles // H
    if b >= B:
        return
    start = tl.load(offsets + b)
    length = (tl.load(offsets + b + 1) - start).to(tl.int32)
    if m0 >= length:
        return
    history = length - tl.load(num_targets + b).to(tl.int32)
    D8 = D // 8 * 8  # known to the compiler as a multiple of 8
    if (D8 == D) & (D <= 64):
        narrow(q, k, v, out, start, head, m0, alpha, history, length, L, H, D8, 64, BLOCK_M, BLOCK_N, TANH)
    elif (D8 == D) & (D <= 128):
        narrow(q, k, v, out, start, head, m0, alpha, history, length, L, H, D8, 128, BLOCK_M, BLOCK_N, TANH)
    else:
        wide(q, k, v, out, start, head, m0, alpha, history, length, L, H, D, BLOCK_M, BLOCK_N, TANH)
