"""Linear layer and Mish twice.

Reduced: 1024 x 8192 x 8192 to 64 x 128 x 128.
"""

import torch
from torch import nn
from torch.nn import functional

BATCH, FEATURES_IN, FEATURES_OUT = 64, 128, 128


class Model(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)

    def forward(self, x):
        return functional.mish(functional.mish(self.linear(x)))


def get_inputs():
    return [torch.rand(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, FEATURES_OUT]
