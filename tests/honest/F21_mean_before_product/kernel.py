import torch


def mean_linear(x, w, out, B, L, D, K):
    torch.mm(x.mean(dim=1), w, out=out)
