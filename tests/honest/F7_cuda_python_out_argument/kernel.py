import torch


def row_scale(x, w, y, R, C):
    torch.addcmul(torch.ones((), device=x.device), x, w, out=y)
