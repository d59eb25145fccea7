"""Rows divided by the mean of their absolute values.

Reduced: 32768 x 65535 to 64 x 1023.
"""

import torch
from torch import nn

ROWS, COLUMNS = 64, 1023


class Model(nn.Module):
    def forward(self, x):
        return x / x.abs().mean(dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
