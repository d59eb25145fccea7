"""Eight fire modules of default-initialised convolutions forget their input, all the more after a global average.

Reduced: batch 64 to 2, image 512 to 128, channels to a quarter, classes 1000 to 100.
"""

import torch
from torch import nn

BATCH = 2
SIZE = 128
CLASSES = 100
NARROWER = 4  # every channel count of the original network is divided by this


class Fire(nn.Module):
    def __init__(self, before, squeeze, after):
        super().__init__()
        self.squeeze = nn.Conv2d(before, squeeze, 1)
        self.point = nn.Conv2d(squeeze, after, 1)
        self.window = nn.Conv2d(squeeze, after, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.point(x)), torch.relu(self.window(x))], dim=1)


def fire(*channels):
    return Fire(*(count // NARROWER for count in channels))


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 96 // NARROWER, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
            fire(96, 16, 64), fire(128, 16, 64), fire(128, 32, 128), nn.MaxPool2d(3, 2, ceil_mode=True),
            fire(256, 32, 128), fire(256, 48, 192), fire(384, 48, 192), fire(384, 64, 256),
            nn.MaxPool2d(3, 2, ceil_mode=True), fire(512, 64, 256),
        )  # fmt: skip
        self.head = nn.Conv2d(512 // NARROWER, classes, 1)

    def forward(self, x):
        return torch.relu(self.head(self.features(x))).mean(dim=(2, 3))


def get_inputs():
    return [torch.rand(BATCH, 3, SIZE, SIZE)]


def get_init_inputs():
    return [CLASSES]
