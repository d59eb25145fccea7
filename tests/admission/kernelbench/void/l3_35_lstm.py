"""Six LSTM layers of contracting steps forget both the noise they read and their random starting state.

Reduced: batch 10 to 4, 512 steps to 48, features 128 to 16, width 256 to 128.
"""

import torch
from torch import nn

BATCH = 4
STEPS = 48
FEATURES = 16
WIDTH = 128
LAYERS = 6
OUTPUTS = 10


class Model(nn.Module):
    def __init__(self, features, width, layers, outputs, dropout):
        super().__init__()
        self.state = (layers, width)
        self.lstm = nn.LSTM(features, width, layers, batch_first=True, dropout=dropout)
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        layers, width = self.state
        hidden = torch.randn(layers, x.shape[0], width, dtype=x.dtype)
        cell = torch.randn(layers, x.shape[0], width, dtype=x.dtype)
        steps, _ = self.lstm(x, (hidden, cell))
        return self.head(steps[:, -1])


def get_inputs():
    return [torch.rand(BATCH, STEPS, FEATURES)]


def get_init_inputs():
    return [FEATURES, WIDTH, LAYERS, OUTPUTS, 0.0]
