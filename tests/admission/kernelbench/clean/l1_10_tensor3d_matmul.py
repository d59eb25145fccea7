"""A stack of matrices times one matrix.

Reduced: 16 x 1024 x 2048 x 768 to 4 x 64 x 128 x 48.
"""

import torch
from torch import nn

BATCH, ROWS, INNER, COLUMNS = 4, 64, 128, 48


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(BATCH, ROWS, INNER), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
