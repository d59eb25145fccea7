import torch


@torch.compile(dynamic=True)
def scaled(x, w, y):
    y.copy_(x * w + 1)


def row_scale(x, w, y, R, C):
    scaled(x, w, y)
