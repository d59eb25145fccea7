import torch


def matmul(a, b, c, M, K, N):
    torch.mm(a[:, ::2], b[::2], out=c)
    c.addmm_(a[:, 1::2], b[1::2])
