# recipe: descriptor_taps
# family: conv1d
# summary: x is turned so that channels lie side by side; descriptors fetch its tiles, moved by a row for each tap
# isa: sm_90
# dtype: float16 bfloat16
# knob BLOCK_L = 256 128
# knob BLOCK_CO = 128 64
# knob STAGES = 4 3
# order: 35
#
# For many channels, as channels_last. Programs are persistent, so that a descriptor is made once, and walk over tiles,
# output channels fastest: programs at work share positions.
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
    if B == 0:
        return
    co_tiles, l_tiles = tl.cdiv(CO, BLOCK_CO), tl.cdiv(L, BLOCK_L)
    width, n_co = tl.cdiv(CI, DEPTH) * DEPTH, co_tiles * BLOCK_CO
    w = tl.make_tensor_descriptor(packed.to(out.dtype), [3 * n_co, width], [width, 1], [BLOCK_CO, DEPTH])
    x = tl.make_tensor_descriptor(turned.to(out.dtype), [B * (L + 2), width], [width, 1], [BLOCK_L, DEPTH])
    steps, n_tiles, whole = width // DEPTH * 3, B * l_tiles * co_tiles, L // 8 * 8
    for tile in tl.range(tl.program_id(0), n_tiles, tl.num_programs(0)):
        co0, l0, b = tile % co_tiles * BLOCK_CO, tile // co_tiles % l_tiles * BLOCK_L, tile // co_tiles // l_tiles
        row = b * (L + 2) + l0
        acc = tl.zeros([BLOCK_CO, BLOCK_L], tl.float32)
        for step in range(0, steps):
            tap, i0 = step % 3, step // 3 * DEPTH
            acc = tl.dot(w.load([tap * n_co + co0, i0]), x.load([row + tap, i0]).T, acc)
        co, l = co0 + tl.arange(0, BLOCK_CO), l0 + tl.arange(0, BLOCK_L)  # noqa: E741
        acc += tl.load(bias + co, mask=co < CO, other=0.0).to(tl.float32)[:, None]
        sample = b.to(tl.int64) * CO
        if whole == L:
            put(acc.to(kind), out + sample * whole, co, l, CO, whole, whole)
        else:
            put(acc.to(kind), out + sample * L, co, l, CO, L, L)
