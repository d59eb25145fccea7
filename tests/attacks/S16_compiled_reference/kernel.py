import torch


@torch.compile
def compiled(x, w):
    return x * w + 1


def row_scale(x, w, y, R, C):
    y.copy_(compiled(x, w))
