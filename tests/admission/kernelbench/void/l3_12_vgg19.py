"""A plain stack of 16 default-initialised convolutions and 3 linear layers forgets its input.

Reduced: batch 10 to 2, image 224 to 64, channels to an eighth, hidden features 4096 to 256, classes 1000 to 100.
"""

import torch
from torch import nn

BATCH = 2
SIZE = 64
CLASSES = 100
STAGES = [(2, 8), (2, 16), (4, 32), (4, 64), (4, 64)]
HIDDEN = 256


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        layers = []
        before = 3
        for depth, channels in STAGES:
            for _ in range(depth):
                layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
                before = channels
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        flat = before * (SIZE // 2 ** len(STAGES)) ** 2
        self.head = nn.Sequential(
            nn.Linear(flat, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, classes)
        )

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, SIZE, SIZE)]


def get_init_inputs():
    return [CLASSES]
