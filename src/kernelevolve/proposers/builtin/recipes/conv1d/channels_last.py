# recipe: channels_last
# family: conv1d
# summary: x is turned so that channels lie side by side; then a tile shifted by one is aligned, for asynchronous copies
# isa: sm_90
# dtype: float16 bfloat16
# knob BLOCK_L = 256 128
# knob BLOCK_CO = 128 64
# knob STAGES = 4 3
# order: 40
#
# For many channels: turning costs one more walk over x, the products run at the tensor cores' full rate. x becomes
# [B][L+2][channels up to whole blocks] with a row of zeros at both ends, so that the loop needs no mask.
import triton
import triton.language as tl


@triton.jit
def pack(weight, packed, CI, CO, DEPTH: tl.constexpr, N_CO: tl.constexpr, BLOCK: tl.constexpr):
    """weight [CO,CI,3] to packed [3][co][ci], zeros up to whole blocks."""
    packed = packed.to(weight.dtype)
    width = tl.cdiv(CI, DEPTH) * DEPTH
    n = tl.cdiv(CO, N_CO) * N_CO * width
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o, i = place // width, place % width
    inside = (o < CO) & (i < CI)
    for tap in tl.static_range(3):
        value = tl.load(weight + (o * CI + i) * 3 + tap, mask=inside, other=0.0)
        tl.store(packed + tap * n + place, value, mask=place < n)


@triton.jit
def turn_tile(x, turned, l0, i0, CI, L, width, stride, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    i, l = i0 + tl.arange(0, DEPTH), l0 + tl.arange(0, BLOCK)  # noqa: E741
    value = tl.load(x + i[:, None] * stride + l[None, :], mask=(i < CI)[:, None] & (l < L)[None, :], other=0.0)
    # Behind the last position this writes the row of zeros at the end, too.
    tl.store(turned + (l + 1)[:, None] * width + i[None, :], tl.trans(value), mask=(l <= L)[:, None])
    if l0 == 0:
        tl.store(turned + i, tl.zeros([DEPTH], x.dtype.element_ty))


@triton.jit
def turn(x, turned, B, CI, L, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    """x [B,CI,L] to turned [b][l+1][ci]."""
    l_tiles, depths = (L + BLOCK) // BLOCK, tl.cdiv(CI, DEPTH)
    place = tl.program_id(0)
    i0, l0, b = place % depths * DEPTH, place // depths % l_tiles * BLOCK, (place // depths // l_tiles).to(tl.int64)
    if b >= B:
        return
    width = depths * DEPTH
    turned = turned.to(x.dtype) + b * (L + 2) * width
    whole = L // 8 * 8  # known to the compiler as a multiple of 8
    if whole == L:
        turn_tile(tl.multiple_of(x + b * CI * whole, 16), turned, l0, i0, CI, whole, width, whole, DEPTH, BLOCK)
    else:
        turn_tile(x + b * CI * L, turned, l0, i0, CI, L, width, L, DEPTH, BLOCK)


@triton.jit
def put(value, out, co, l, CO, L, stride):  # noqa: E741
    tl.store(out + co[:, None] * stride + l[None, :], value, mask=(co < CO)[:, None] & (l < L)[None, :])


@triton.jit
def conv(
    turned, packed, bias, out, B, CI, CO, L, BLOCK_L: tl.constexpr, BLOCK_CO: tl.constexpr, DEPTH: tl.constexpr
):  # fmt: skip
    kind: tl.constexpr = out.dtype.element_ty
    co_tiles, l_tiles = tl.cdiv(CO, BLOCK_CO), tl.cdiv(L, BLOCK_L)
    place = tl.program_id(0)
    co0, l0 = place % co_tiles * BLOCK_CO, place // co_tiles % l_tiles * BLOCK_L
    b = (place // co_tiles // l_tiles).to(tl.int64)
    if b >= B:
        return
    width = tl.cdiv(CI, DEPTH) * DEPTH
    size = co_tiles * BLOCK_CO * width
    co, l, k = co0 + tl.arange(0, BLOCK_CO), l0 + tl.arange(0, BLOCK_L), tl.arange(0, DEPTH)  # noqa: E741
    w = packed.to(out.dtype) + co[:, None] * width + k[None, :]
    x = turned.to(out.dtype) + b * (L + 2) * width + tl.minimum(l, L - 1)[:, None] * width + k[None, :]
    acc = tl.zeros([BLOCK_CO, BLOCK_L], tl.float32)
    for step in range(0, width // DEPTH * 3):
        tap, i0 = step % 3, step // 3 * DEPTH
        acc = tl.dot(tl.load(w + (tap * size + i0)), tl.trans(tl.load(x + (tap * width + i0))), acc)
    acc += tl.load(bias + co, mask=co < CO, other=0.0).to(tl.float32)[:, None]
    whole = L // 8 * 8
    if whole == L:
        put(acc.to(kind), out + b * CO * whole, co, l, CO, whole, whole)
    else:
        put(acc.to(kind), out + b * CO * L, co, l, CO, L, L)
