import torch


def matmul(a, b, c, M, K, N):
    torch.set_float32_matmul_precision("highest")
    torch.mm(a.contiguous(), b.contiguous(), out=c)
