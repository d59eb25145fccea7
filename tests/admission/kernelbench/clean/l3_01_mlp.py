"""Two hidden layers with ReLU.

Reduced: 128 x 16384, 16384, 16384, 8192 to 32 x 128, 128, 128, 64.
"""

import torch
from torch import nn

BATCH, FEATURES_IN, FEATURES_OUT = 32, 128, 64
HIDDEN = [128, 128]


class Model(nn.Module):
    def __init__(self, features_in, hidden, features_out):
        super().__init__()
        layers = []
        for width in hidden:
            layers += [nn.Linear(features_in, width), nn.ReLU()]
            features_in = width
        self.layers = nn.Sequential(*layers, nn.Linear(features_in, features_out))

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, HIDDEN, FEATURES_OUT]
