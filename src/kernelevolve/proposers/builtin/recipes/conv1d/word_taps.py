# recipe: word_taps
# family: conv1d
# summary: three tensor-core products per tile, one a tap; the shifted tiles are put together from 32-bit words
# isa: sm_90
# dtype: float16 bfloat16
# knob BLOCK_L = 128 256 64
# knob BLOCK_CO = 128 64
# knob WARPS = 8 4
# knob STAGES = 2 3 1
# order: 20
#
# A tile shifted by one element is not aligned for wide loads. Where L is a multiple of 8 a row is read as words of two
# elements: the word before and the word after hold what the shift needs. Weights are first laid out tap by tap.
import triton
import triton.language as tl


@triton.jit
def pack(weight, packed, CI, CO, N_CI: tl.constexpr, N_CO: tl.constexpr, BLOCK: tl.constexpr):
    """weight [CO,CI,3] to packed [3][co][ci], zeros up to whole blocks."""
    packed = packed.to(weight.dtype)
    width = tl.cdiv(CI, N_CI) * N_CI
    height = tl.cdiv(CO, N_CO) * N_CO
    n = height * width
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
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
def tile(
    x, packed, bias, out, b, l0, co0, CI, CO, L,
    BLOCK_L: tl.constexpr, BLOCK_CO: tl.constexpr, BLOCK_CI: tl.constexpr, WORDS: tl.constexpr,
):  # fmt: skip
    width = tl.cdiv(CI, BLOCK_CI) * BLOCK_CI
    size = tl.cdiv(CO, BLOCK_CO) * BLOCK_CO * width
    kind: tl.constexpr = x.dtype.element_ty
    x += b.to(tl.int64) * CI * L
    k = tl.arange(0, BLOCK_CI)
    co = co0 + tl.arange(0, BLOCK_CO)
    l = l0 + tl.arange(0, BLOCK_L)  # noqa: E741
    j = l0 // 2 + tl.arange(0, BLOCK_L // 2)
    w = packed.to(x.dtype) + co[:, None] * width + k[None, :]
    acc = tl.zeros([BLOCK_CO, BLOCK_L], tl.float32)
    for i0 in range(0, CI, BLOCK_CI):
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
        x += BLOCK_CI * L
        w += BLOCK_CI
    acc += tl.load(bias + co, mask=co < CO, other=0.0).to(tl.float32)[:, None]
    out += (b.to(tl.int64) * CO + co0) * L
    at = out + tl.arange(0, BLOCK_CO)[:, None] * L + l[None, :]
    tl.store(at, acc.to(kind), mask=(co < CO)[:, None] & (l < L)[None, :])


@triton.jit
def conv(
    x, packed, bias, out, B, CI, CO, L,
    BLOCK_L: tl.constexpr, BLOCK_CO: tl.constexpr, BLOCK_CI: tl.constexpr,
):  # fmt: skip
    co_tiles, l_tiles = tl.cdiv(CO, BLOCK_CO), tl.cdiv(L, BLOCK_L)
    place = tl.program_id(0)
    co0 = place % co_tiles * BLOCK_CO
    l0 = place // co_tiles % l_tiles * BLOCK_L
    b = place // co_tiles // l_tiles
    if b >= B:
        return
    whole = L // 8 * 8  # known to the compiler as a multiple of 8
    if whole == L:
        tile(x, packed, bias, out, b, l0, co0, CI, CO, whole, BLOCK_L, BLOCK_CO, BLOCK_CI, True)
    else:
        tile(x, packed, bias, out, b, l0, co0, CI, CO, L, BLOCK_L, BLOCK_CO, BLOCK_CI, False)
