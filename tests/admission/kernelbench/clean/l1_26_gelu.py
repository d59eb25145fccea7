"""The exact GELU.

Reduced: 4096 x 393216 to 64 x 1024.
"""

import torch
from torch import nn
from torch.nn import functional

ROWS, COLUMNS = 64, 1024


class Model(nn.Module):
    def forward(self, x):
        return functional.gelu(x)


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
