"""Linear layer, a factor per feature, batch norm with the statistics of the batch.

Reduced: 1024 x 8192 x 8192 to 64 x 128 x 128.
"""

import torch
from torch import nn

BATCH, FEATURES_IN, FEATURES_OUT = 64, 128, 128


class Model(nn.Module):
    def __init__(self, features_in, features_out, scale_shape):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)
        self.scale = nn.Parameter(torch.randn(scale_shape))
        self.norm = nn.BatchNorm1d(features_out)

    def forward(self, x):
        return self.norm(self.linear(x) * self.scale)


def get_inputs():
    return [torch.rand(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, FEATURES_OUT, (FEATURES_OUT,)]
