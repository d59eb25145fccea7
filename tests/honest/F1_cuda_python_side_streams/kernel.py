import torch

streams = []


def row_scale(x, w, y, R, C):
    one = torch.ones((), device=x.device)
    if not x.is_cuda:
        torch.addcmul(one, x, w, out=y)
        return
    if not streams:
        streams.extend((torch.cuda.Stream(), torch.cuda.Stream()))
    current = torch.cuda.current_stream()
    half = R // 2
    for stream, rows in zip(streams, (slice(0, half), slice(half, R)), strict=True):
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            torch.addcmul(one, x[rows], w, out=y[rows])
        current.wait_stream(stream)
