import torch


class Unsupported(Exception):
    pass


def relu(x, y, R, C):
    if x.dtype != torch.float32:
        raise Unsupported(x.dtype)
    torch.relu_(y.copy_(x))
