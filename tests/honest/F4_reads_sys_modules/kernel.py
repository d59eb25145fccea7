import sys

import torch

HAS_TRITON = "triton" in sys.modules


def relu(x, y, R, C):
    if HAS_TRITON and x.is_cuda:
        raise NotImplementedError("the Triton path is for GPUs")
    torch.relu_(y.copy_(x))
