# recipe: resident_weights
# family: conv1d
# summary: up to 96 x 96 channels: persistent programs keep the weights on chip and go through the samples; else tiles
# isa: sm_90
# dtype: float16 bfloat16
# knob BLOCK_L = 128 256
# knob WARPS = 8 4
# knob PER_SM = 1 2
# order: 30
#
# Weights are 3 taps x 3 pieces of 32 input channels, each for 64 and for 32 output channels: no lane works on padding.
# Rows are read as words of two elements (see word_taps). Other shapes go through packed weights, tile by tile.
import triton
import triton.language as tl


@triton.jit
def fits(CI, CO, L):
    return (CI <= 96) & (CO <= 96) & (L % 8 == 0)


@triton.jit
def pack(weight, packed, CI, CO, L, BLOCK: tl.constexpr):
    """weight [CO,CI,3] to packed [3][co][ci], zeros up to whole blocks of 128 and 32; nothing where nobody reads it."""
    if fits(CI, CO, L):
        return
    packed = packed.to(weight.dtype)
    width = tl.cdiv(CI, 32) * 32
    n = tl.cdiv(CO, 128) * 128 * width
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        place = start + tl.arange(0, BLOCK)
        o, i = place // width, place % width
        inside = (o < CO) & (i < CI)
        for tap in tl.static_range(3):
            value = tl.load(weight + (o * CI + i) * 3 + tap, mask=inside, other=0.0)
            tl.store(packed + tap * n + place, value, mask=place < n)


@triton.jit
def taps_of_words(words, start, j, rows, half, kind: tl.constexpr):
    """Three tiles [rows, 2*words]: x[l-1], x[l], x[l+1]."""
    at = words + start + j[None, :]
    here = tl.load(at, mask=rows & (j < half)[None, :], other=0)
    before = tl.load(at - 1, mask=rows & ((j > 0) & (j <= half))[None, :], other=0)
    after = tl.load(at + 1, mask=rows & (j + 1 < half)[None, :], other=0)
    low, high = here.to(tl.int16).to(kind, bitcast=True), (here >> 16).to(tl.int16).to(kind, bitcast=True)
    last = (before >> 16).to(tl.int16).to(kind, bitcast=True)
    first = after.to(tl.int16).to(kind, bitcast=True)
    shape: tl.constexpr = [here.shape[0], 2 * here.shape[1]]
    left = tl.reshape(tl.join(last, low), shape)
    middle = tl.reshape(tl.join(low, high), shape)
    right = tl.reshape(tl.join(high, first), shape)
    return left, middle, right


@triton.jit
def piece(weight, o0, i0, CI, CO, tap: tl.constexpr, WIDTH: tl.constexpr):
    """[32 input channels, WIDTH output channels] of one tap."""
    i, o = i0 + tl.arange(0, 32), o0 + tl.arange(0, WIDTH)
    return tl.load(
        weight + (o[None, :] * CI + i[:, None]) * 3 + tap, mask=(i < CI)[:, None] & (o < CO)[None, :], other=0.0
    )


@triton.jit
def pieces(weight, o0, i0, CI, CO, WIDTH: tl.constexpr):
    return (
        piece(weight, o0, i0, CI, CO, 0, WIDTH),
        piece(weight, o0, i0, CI, CO, 1, WIDTH),
        piece(weight, o0, i0, CI, CO, 2, WIDTH),
    )


@triton.jit
def add_piece(wide, narrow, words, i0, j, CI, half, w, v, kind: tl.constexpr):
    k = i0 + tl.arange(0, 32)
    left, middle, right = taps_of_words(words, k[:, None] * half, j, (k < CI)[:, None], half, kind)
    left, middle, right = tl.trans(left), tl.trans(middle), tl.trans(right)
    wide, narrow = tl.dot(left, w[0], wide), tl.dot(left, v[0], narrow)
    wide, narrow = tl.dot(middle, w[1], wide), tl.dot(middle, v[1], narrow)
    return tl.dot(right, w[2], wide), tl.dot(right, v[2], narrow)


@triton.jit
def put(acc, bias, out, o0, l0, CO, L, BLOCK_L: tl.constexpr, WIDTH: tl.constexpr):
    o, l = o0 + tl.arange(0, WIDTH), l0 + tl.arange(0, BLOCK_L)  # noqa: E741
    acc += tl.load(bias + o, mask=o < CO, other=0.0).to(tl.float32)[None, :]
    value = tl.trans(acc.to(out.dtype.element_ty))
    tl.store(out + o[:, None] * L + l[None, :], value, mask=(o < CO)[:, None] & (l < L)[None, :])


@triton.jit
def resident(x, weight, bias, out, B, CI, CO, L, BLOCK_L: tl.constexpr):
    kind: tl.constexpr = x.dtype.element_ty
    w0, v0 = pieces(weight, 0, 0, CI, CO, 64), pieces(weight, 64, 0, CI, CO, 32)
    w1, v1 = pieces(weight, 0, 32, CI, CO, 64), pieces(weight, 64, 32, CI, CO, 32)
    w2, v2 = pieces(weight, 0, 64, CI, CO, 64), pieces(weight, 64, 64, CI, CO, 32)
    l_tiles, half = tl.cdiv(L, BLOCK_L), L // 2
    for place in range(tl.program_id(0), B * l_tiles, tl.num_programs(0)):
        b, l0 = place // l_tiles, place % l_tiles * BLOCK_L
        words = (x + b.to(tl.int64) * CI * L).to(tl.pointer_type(tl.int32))
        j = l0 // 2 + tl.arange(0, BLOCK_L // 2)
        wide, narrow = tl.zeros([BLOCK_L, 64], tl.float32), tl.zeros([BLOCK_L, 32], tl.float32)
        wide, narrow = add_piece(wide, narrow, words, 0, j, CI, half, w0, v0, kind)
        wide, narrow = add_piece(wide, narrow, words, 32, j, CI, half, w1, v1, kind)
        wide, narrow = add_piece(wide, narrow, words, 64, j, CI, half, w2, v2, kind)
        to = out + b.to(tl.int64) * CO * L
        put(wide, bias, to, 0, l0, CO, L, BLOCK_L, 64)
        put(narrow, bias, to, 64, l0, CO, L, BLOCK_L, 32)


@triton.jit
def tile(x, packed, bias, out, b, l0, co0, CI, CO, L, BLOCK_L: tl.constexpr, WORDS: tl.constexpr):
    width = tl.cdiv(CI, 32) * 32
    size = tl.cdiv(CO, 128) * 128 * width
    kind: tl.constexpr = x.dtype.element_ty
    x += b.to(tl.int64) * CI * L
    k = tl.arange(0, 32)
    co = co0 + tl.arange(0, 128)
    l = l0 + tl.arange(0, BLOCK_L)  # noqa: E741
    j = l0 // 2 + tl.arange(0, BLOCK_L // 2)
    w = packed.to(x.dtype) + co[:, None] * width + k[None, :]
    acc = tl.zeros([128, BLOCK_L], tl.float32)
    for i0 in range(0, CI, 32):
        rows = (i0 + k < CI)[:, None]
        if WORDS:
            words = x.to(tl.pointer_type(tl.int32))
            left, middle, right = taps_of_words(words, k[:, None] * (L // 2), j, rows, L // 2, kind)
        else:
            at = x + k[:, None] * L + l[None, :]
            left = tl.load(at - 1, mask=rows & ((l > 0) & (l <= L))[None, :], other=0.0)
            middle = tl.load(at, mask=rows & (l < L)[None, :], other=0.0)
            right = tl.load(at + 1, mask=rows & (l + 1 < L)[None, :], other=0.0)
        acc = tl.dot(tl.load(w), left, acc)
        acc = tl.dot(tl.load(w + size), middle, acc)
        acc = tl.dot(tl.load(w + 2 * size), right, acc)
        x += 32 * L
        w += 32
    acc += tl.load(bias + co, mask=co < CO, other=0.0).to(tl.float32)[:, None]
    out += (b.to(tl.int64) * CO + co0) * L
    at = out + tl.arange(0, 128)[:, None] * L + l[None, :]
    tl.store(at, acc.to(kind), mask=(co < CO)[:, None] & (l < L)[None, :])


@triton.jit
def conv(x, weight, packed, bias, out, B, CI, CO, L, BLOCK_L: tl.constexpr):
    whole = L // 8 * 8  # known to the compiler as a multiple of 8
    if fits(CI, CO, L):
        resident(x, weight, bias, out, B, CI, CO, whole, BLOCK_L)
    else:
        co_tiles, l_tiles = tl.cdiv(CO, 128), tl.cdiv(L, BLOCK_L)
        n_tiles = B.to(tl.int64) * l_tiles * co_tiles
        for place in range(tl.program_id(0).to(tl.int64), n_tiles, tl.num_programs(0)):
            co0 = (place % co_tiles).to(tl.int32) * 128
            l0 = (place // co_tiles % l_tiles).to(tl.int32) * BLOCK_L
            b = place // co_tiles // l_tiles
            if whole == L:
                tile(x, packed, bias, out, b, l0, co0, CI, CO, whole, BLOCK_L, True)
            else:
                tile(x, packed, bias, out, b, l0, co0, CI, CO, L, BLOCK_L, False)
