import torch


def linear_attention(q, k, v, out, T, D):
    torch.mm(q, k.T @ v, out=out)
