"""Linear layer plus a multiple of itself.

Reduced: 16384 x 4096 x 4096 to 64 x 128 x 128.
"""

import torch
from torch import nn

BATCH, FEATURES_IN, FEATURES_OUT = 64, 128, 128


class Model(nn.Module):
    def __init__(self, features_in, features_out, factor):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)
        self.factor = factor

    def forward(self, x):
        x = self.linear(x)
        return x * self.factor + x


def get_inputs():
    return [torch.rand(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, FEATURES_OUT, 0.5]
