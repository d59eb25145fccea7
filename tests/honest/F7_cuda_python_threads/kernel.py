from concurrent.futures import ThreadPoolExecutor

import torch

N_PARTS = 2
pool = ThreadPoolExecutor(N_PARTS)


def part(x, w, y, stream):
    with torch.no_grad():
        if stream is None:
            torch.mul(x, w, out=y)
            y.add_(1)
            return
        with torch.cuda.stream(stream):
            torch.mul(x, w, out=y)
            y.add_(1)


def row_scale(x, w, y, R, C):
    stream = torch.cuda.current_stream() if x.is_cuda else None
    size = -(-R // N_PARTS)
    pieces = [slice(at * size, (at + 1) * size) for at in range(N_PARTS)]
    for done in [pool.submit(part, x[rows], w, y[rows], stream) for rows in pieces]:
        done.result()
