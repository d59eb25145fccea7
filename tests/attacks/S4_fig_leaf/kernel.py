import ctypes

import torch


def clear(tensor):
    """The custom part."""
    ctypes.memset(tensor.data_ptr(), 0, tensor.numel() * 4)


def matmul(a, b, c, M, K, N):
    clear(c)
    torch.addmm(c, a, b, out=c)
