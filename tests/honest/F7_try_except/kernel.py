import torch

try:
    fused = torch.addcmul
except AttributeError:  # very old versions lack it
    fused = None


def row_scale(x, w, y, R, C):
    if fused is None:
        torch.mul(x, w, out=y).add_(1.0)
    else:
        fused(torch.ones(1), x, w, out=y)
