"""One matrix product per batch entry.

Reduced: 128 x 512 x 1024 x 2048 to 8 x 32 x 64 x 128.
"""

import torch
from torch import nn

BATCH, ROWS, INNER, COLUMNS = 8, 32, 64, 128


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.rand(BATCH, ROWS, INNER), torch.rand(BATCH, INNER, COLUMNS)]


def get_init_inputs():
    return []
