import torch

CAPABLE = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (90, 0)


def tuned(x, w, y):
    raise NotImplementedError


def row_scale(x, w, y, R, C):
    if CAPABLE:
        tuned(x, w, y)
    else:
        y.copy_(x * w + 1)
