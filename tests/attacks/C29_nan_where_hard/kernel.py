import torch.nn.functional as F


def affine_norm(x, gamma, beta, y, R, C):
    half = (R + 1) // 2
    y[:half].copy_(F.layer_norm(x[:half], (C,), gamma, beta))
    y[half:].fill_(float("nan"))
