import torch

scratch = torch.empty(0)


def row_scale(x, w, y, R, C):
    torch.mul(x, w, out=scratch.resize_(R, C))  # one allocation less
    scratch.add_(1)
    y.copy_(scratch)
