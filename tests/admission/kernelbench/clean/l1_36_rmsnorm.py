"""Each pixel's channels divided by their root mean square.

Reduced: 112 x 64 x 512 x 512 to 4 x 16 x 32 x 32.
"""

import torch
from torch import nn

SHAPE = (4, 16, 32, 32)


class Model(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.channels = channels
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(dim=1, keepdim=True) + self.eps)


def get_inputs():
    return [torch.rand(SHAPE)]


def get_init_inputs():
    return [SHAPE[1]]
