"""A deep net of default-initialised convolutions forgets its input. No nonlinearity inside the inception blocks.

Reduced: batch 10 to 2, image 224 to 96, channels to an eighth, classes 1000 to 100.
"""

import torch
from torch import nn

BATCH = 2
SIZE = 96
CLASSES = 100
NARROWER = 8  # every channel count of the original network is divided by this


class Inception(nn.Module):
    def __init__(self, before, direct, squeeze3, after3, squeeze5, after5, pooled):
        super().__init__()
        self.direct = nn.Conv2d(before, direct, 1)
        self.middle = nn.Sequential(nn.Conv2d(before, squeeze3, 1), nn.Conv2d(squeeze3, after3, 3, padding=1))
        self.wide = nn.Sequential(nn.Conv2d(before, squeeze5, 1), nn.Conv2d(squeeze5, after5, 5, padding=2))
        self.pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(before, pooled, 1))

    def forward(self, x):
        return torch.cat([self.direct(x), self.middle(x), self.wide(x), self.pooled(x)], dim=1)


def inception(*channels):
    return Inception(*(count // NARROWER for count in channels))


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        narrow, wide = 64 // NARROWER, 192 // NARROWER
        self.features = nn.Sequential(
            nn.Conv2d(3, narrow, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(narrow, narrow, 1), nn.ReLU(),
            nn.Conv2d(narrow, wide, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            inception(192, 64, 96, 128, 16, 32, 32),
            inception(256, 128, 128, 192, 32, 96, 64), nn.MaxPool2d(3, 2, 1),
            inception(480, 192, 96, 208, 16, 48, 64),
            inception(512, 160, 112, 224, 24, 64, 64),
            inception(512, 128, 128, 256, 24, 64, 64),
            inception(512, 112, 144, 288, 32, 64, 64),
            inception(528, 256, 160, 320, 32, 128, 128), nn.MaxPool2d(3, 2, 1),
            inception(832, 256, 160, 320, 32, 128, 128),
            inception(832, 384, 192, 384, 48, 128, 128),
        )  # fmt: skip
        self.head = nn.Linear(1024 // NARROWER, classes)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


def get_inputs():
    return [torch.rand(BATCH, 3, SIZE, SIZE)]


def get_init_inputs():
    return [CLASSES]
