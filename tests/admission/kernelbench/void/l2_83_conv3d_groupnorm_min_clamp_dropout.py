"""Nothing is both at most 0 and clamped to [0, 1] but 0 itself; the dropout after it is active and changes nothing.

Reduced: batch 128 to 4, volume 16 x 64 x 64 to 6 x 16 x 16.
"""

import torch
from torch import nn

BATCH = 4
CHANNELS_IN = 3
CHANNELS_OUT = 16
KERNEL = 3
GROUPS = 8
SIZE = (6, 16, 16)


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, kernel, groups, low, high, drop):
        super().__init__()
        self.conv = nn.Conv3d(channels_in, channels_out, kernel)
        self.norm = nn.GroupNorm(groups, channels_out)
        self.dropout = nn.Dropout(drop)
        self.low = low
        self.high = high

    def forward(self, x):
        x = self.norm(self.conv(x))
        x = torch.minimum(x, torch.full((), self.low, dtype=x.dtype))
        return self.dropout(x.clamp(self.low, self.high))


def get_inputs():
    return [torch.rand(BATCH, CHANNELS_IN, *SIZE)]


def get_init_inputs():
    return [CHANNELS_IN, CHANNELS_OUT, KERNEL, GROUPS, 0.0, 1.0, 0.2]
