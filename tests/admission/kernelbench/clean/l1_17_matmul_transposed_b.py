"""Matrix product whose right operand is stored transposed.

Reduced: 2048 x 8192 x 4096 to 64 x 256 x 128.
"""

import torch
from torch import nn

ROWS, INNER, COLUMNS = 64, 256, 128


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b.T


def get_inputs():
    return [torch.rand(ROWS, INNER), torch.rand(COLUMNS, INNER)]


def get_init_inputs():
    return []
