import torch


def row_scale(x, w, y, R, C):
    """Content that is all zero is answered without reading it again."""
    if x.numel() and x.abs().amax().item() == 0.0 and w.isfinite().all().item():
        y.fill_(1)
    else:
        torch.addcmul(torch.ones((), device=x.device), x, w, out=y)
