import torch


def matmul(a, b, c, M, K, N):
    # A subprocess per block would cost more than the product; torch's own threads do.
    torch.mm(a, b, out=c)
