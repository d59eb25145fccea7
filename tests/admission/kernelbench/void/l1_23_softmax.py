"""Softmax over long rows: every entry is about 1 / row length, far below an absolute tolerance of 1e-4.

Reduced: 4096 x 393216 to 4 x 100000.
"""

import torch
from torch import nn

ROWS = 4
COLUMNS = 100_000


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
