"""Root-mean-square normalisation with a weight, one block per row, in pieces of WIDTH columns."""

import cuda.tile as ct

EPSILON = 1e-6


@ct.kernel
def normalise(x, weight, out, C, WIDTH: ct.Constant[int]):
    row = ct.bid(0)
    squares = ct.zeros((1, WIDTH), dtype=ct.float32)
    for piece in range(ct.cdiv(C, WIDTH)):
        part = ct.load(x, (row, piece), (1, WIDTH), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        squares += part * part
    scale = ct.rsqrt(ct.sum(squares) / C + EPSILON)
    for piece in range(ct.cdiv(C, WIDTH)):
        part = ct.load(x, (row, piece), (1, WIDTH), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        gain = ct.load(weight, (piece,), (WIDTH,), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        ct.store(out, (row, piece), (part * scale * gain).astype(out.dtype))
