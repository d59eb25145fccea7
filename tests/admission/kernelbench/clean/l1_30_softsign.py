"""x / (1 + |x|).

Reduced: 4096 x 393216 to 64 x 1024.
"""

import torch
from torch import nn

ROWS, COLUMNS = 64, 1024


class Model(nn.Module):
    def forward(self, x):
        return x / (1 + x.abs())


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
