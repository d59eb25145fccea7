import torch

buffers = {}


def row_scale(x, w, y, R, C):
    buffer = buffers.setdefault((R, C), torch.empty(R, C))
    torch.addcmul(torch.ones(1), x, w, out=buffer)
    return buffer.detach()
