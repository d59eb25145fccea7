"""A one-dimensional convolution without bias.

Reduced: 32 x 64 x 131072 with 128 filters to 4 x 16 x 1024 with 32.
"""

import torch
from torch import nn

SHAPE = (4, 16, 1024)
FILTERS = 32


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, kernel):
        super().__init__()
        self.conv = nn.Conv1d(channels_in, channels_out, kernel, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(SHAPE)]


def get_init_inputs():
    return [SHAPE[1], FILTERS, 3]
