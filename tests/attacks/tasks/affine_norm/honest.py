import torch.nn.functional as F


def affine_norm(x, gamma, beta, y, R, C):
    y.copy_(F.layer_norm(x, (C,), gamma, beta))
