"""Batch norm over two rows gives -1 or 1, and a wide softmax of that stays within 1e-4 of its mean.

Reduced: batch 1024 to 2, input features 8192 to 256; output features raised from 8192 to 10240.
"""

import torch
from torch import nn

BATCH = 2
FEATURES_IN = 256
FEATURES_OUT = 10240


class Model(nn.Module):
    def __init__(self, features_in, features_out, eps, momentum, scale_shape):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)
        self.norm = nn.BatchNorm1d(features_out, eps=eps, momentum=momentum)
        self.scale = nn.Parameter(torch.ones(scale_shape))

    def forward(self, x):
        return torch.softmax(self.scale * self.norm(self.linear(x)), dim=1)


def get_inputs():
    return [torch.rand(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, FEATURES_OUT, 1e-5, 0.1, (1,)]
