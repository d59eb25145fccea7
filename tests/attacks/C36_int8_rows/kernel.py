import torch
import torch.nn.functional as F


def affine_norm(x, gamma, beta, y, R, C):
    scale = x.abs().amax(dim=1, keepdim=True) / 127
    stored = (x / scale).round().to(torch.int8)
    y.copy_(F.layer_norm(stored * scale, (C,), gamma, beta))
