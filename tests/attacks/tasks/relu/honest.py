import torch


def relu(x, y, R, C):
    torch.clamp(x, min=0, out=y)
