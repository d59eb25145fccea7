"""The encoder takes the batch for the sequence, so the class token never sees an image patch.

Reduced: image 224 to 64, width 512 to 64, hidden features 2048 to 128.
"""

import torch
from torch import nn

BATCH = 2
IMAGE = 64
PATCH = 16
CLASSES = 10
WIDTH = 64
DEPTH = 6
HEADS = 8
HIDDEN = 128


class Model(nn.Module):
    def __init__(self, image, patch, classes, width, depth, heads, hidden, channels, dropout):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(channels * patch * patch, width)
        self.position = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width))
        self.token = nn.Parameter(torch.randn(1, 1, width))
        layers = [nn.TransformerEncoderLayer(width, heads, hidden, dropout=dropout) for _ in range(depth)]
        self.encoder = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, classes))

    def forward(self, images):
        batch, channels = images.shape[:2]
        tiles = images.unfold(2, self.patch, self.patch).unfold(3, self.patch, self.patch)
        tokens = self.embed(tiles.reshape(batch, -1, channels * self.patch * self.patch))
        tokens = torch.cat([self.token.expand(batch, -1, -1), tokens], dim=1) + self.position
        return self.head(self.encoder(tokens)[:, 0])


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [IMAGE, PATCH, CLASSES, WIDTH, DEPTH, HEADS, HIDDEN, 3, 0.0]
