"""Two convolutions with batch norm beside a projected shortcut.

Reduced: 10 x 3 x 224 x 224 with 64 filters to 4 x 3 x 32 x 32 with 16.
"""

import torch
from torch import nn

SHAPE = (4, 3, 32, 32)
FILTERS = 16


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels_out)
        self.second = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels_out)
        self.shortcut = nn.Sequential(
            nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out)
        )

    def forward(self, x):
        inner = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(inner)) + self.shortcut(x))


def get_inputs():
    return [torch.rand(SHAPE)]


def get_init_inputs():
    return [SHAPE[1], FILTERS, 1]
