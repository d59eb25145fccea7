"""Matrix product whose left operand is stored transposed.

Reduced: 2048 x 8192 x 4096 to 64 x 256 x 128.
"""

import torch
from torch import nn

ROWS, INNER, COLUMNS = 64, 256, 128


class Model(nn.Module):
    def forward(self, a, b):
        return a.T @ b


def get_inputs():
    return [torch.rand(INNER, ROWS), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
