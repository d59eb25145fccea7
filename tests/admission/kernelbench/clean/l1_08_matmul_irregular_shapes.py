"""Matrix product whose sizes are no multiples of anything useful.

Reduced: 8205 x 2949 x 5921 to 205 x 149 x 121.
"""

import torch
from torch import nn

ROWS, INNER, COLUMNS = 205, 149, 121


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(ROWS, INNER), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
