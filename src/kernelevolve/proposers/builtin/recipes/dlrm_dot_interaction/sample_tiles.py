# recipe: sample_tiles
# family: dlrm_dot_interaction
# summary: up to 31 sparse features: one small tensor-core product a sample, its triangle written in place; else tiles
# isa: sm_90
# dtype: bfloat16 float16
# knob BLOCK_D = 128 64 32
# knob SAMPLES = 1 2 4 8
# knob WARPS = 4 2 1
# knob STAGES = 1 2 3
# order: 20
import triton
import triton.language as tl


@triton.jit
def rows(dense, sparse, r, d, n_rows, D):
    """Rows of [dense; sparse] of one sample, zeros outside."""
    start = tl.where(r > 0, sparse + (r - 1) * D, dense)
    return tl.load(start[:, None] + d[None, :], mask=(r < n_rows)[:, None] & (d < D)[None, :], other=0.0)


@triton.jit
def put(products, out, i, j, n_rows, D):
    """The strict upper triangle, row by row, after the dense row."""
    i, j = i[:, None], j[None, :]
    place = D + i * (2 * n_rows - i - 1) // 2 + (j - i - 1)
    tl.store(out + place, products.to(out.dtype.element_ty), mask=(i < j) & (j < n_rows))


@triton.jit
def copy_dense(dense, out, D, BLOCK_D: tl.constexpr):
    for d0 in range(0, D, BLOCK_D):
        d = d0 + tl.arange(0, BLOCK_D)
        tl.store(out + d, tl.load(dense + d, mask=d < D, other=0.0), mask=d < D)


@triton.jit
def few(dense, sparse, out, first, B, F, D, BLOCK_D: tl.constexpr, SAMPLES: tl.constexpr):
    r = tl.arange(0, 32)
    n_out = D + (F + 1) * F // 2
    for s in range(SAMPLES):
        b = (first + s).to(tl.int64)
        if b < B:
            g = tl.zeros([32, 32], tl.float32)
            for d0 in range(0, D, BLOCK_D):
                x = rows(dense + b * D, sparse + b * F * D, r, d0 + tl.arange(0, BLOCK_D), F + 1, D)
                g = tl.dot(x, tl.trans(x), g)
            put(g, out + b * n_out, r, r, F + 1, D)
            copy_dense(dense + b * D, out + b * n_out, D, BLOCK_D)


@triton.jit
def many(dense, sparse, out, first, B, F, D, SAMPLES: tl.constexpr):
    r, n_out = tl.arange(0, 32), D + (F + 1) * F // 2
    for s in range(SAMPLES):
        b = (first + s).to(tl.int64)
        if b < B:
            for i0 in range(0, F + 1, 32):
                for j0 in range(i0, F + 1, 32):
                    g = tl.zeros([32, 32], tl.float32)
                    for d0 in range(0, D, 32):
                        d = d0 + tl.arange(0, 32)
                        one = rows(dense + b * D, sparse + b * F * D, i0 + r, d, F + 1, D)
                        other = rows(dense + b * D, sparse + b * F * D, j0 + r, d, F + 1, D)
                        g = tl.dot(one, tl.trans(other), g)
                    put(g, out + b * n_out, i0 + r, j0 + r, F + 1, D)
            copy_dense(dense + b * D, out + b * n_out, D, 32)


@triton.jit
def interact(dense, sparse, out, B, F, D, BLOCK_D: tl.constexpr, SAMPLES: tl.constexpr):
    first = tl.program_id(0) * SAMPLES
    D8 = D // 8 * 8  # known to the compiler as a multiple of 8
    if (F < 32) & (D8 == D):
        few(dense, sparse, out, first, B, F, D8, BLOCK_D, SAMPLES)
    else:
        many(dense, sparse, out, first, B, F, D, SAMPLES)
