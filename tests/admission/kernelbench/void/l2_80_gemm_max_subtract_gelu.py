"""A column minus its own mean over one entry is 0 for any input.

Reduced: batch 1024 to 64, features 8192 to 256.
"""

import torch
from torch import nn
from torch.nn import functional

BATCH = 64
FEATURES_IN = 256
FEATURES_OUT = 256
DIM = 1


class Model(nn.Module):
    def __init__(self, features_in, features_out, dim):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)
        self.dim = dim

    def forward(self, x):
        largest = self.linear(x).amax(dim=self.dim, keepdim=True)
        return functional.gelu(largest - largest.mean(dim=1, keepdim=True))


def get_inputs():
    return [torch.rand(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, FEATURES_OUT, DIM]
