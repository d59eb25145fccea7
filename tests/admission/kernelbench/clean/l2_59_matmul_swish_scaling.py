"""Linear layer, Swish, a factor.

Reduced: 128 x 32768 x 32768 to 32 x 256 x 256.
"""

import torch
from torch import nn

BATCH, FEATURES_IN, FEATURES_OUT = 32, 256, 256


class Model(nn.Module):
    def __init__(self, features_in, features_out, factor):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)
        self.factor = factor

    def forward(self, x):
        x = self.linear(x)
        return x * torch.sigmoid(x) * self.factor


def get_inputs():
    return [torch.rand(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, FEATURES_OUT, 2.0]
