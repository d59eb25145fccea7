"""Multi-head self-attention that looks back only.

Reduced: 128 x 512 x 768 to 4 x 32 x 64.
"""

import math

import torch
from torch import nn

BATCH, STEPS, WIDTH = 4, 32, 64
HEADS = 8


class Model(nn.Module):
    def __init__(self, width, heads, longest):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.ones(longest, longest).tril())

    def forward(self, x):
        batch, steps, width = x.shape
        parts = self.project(x).view(batch, steps, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(self.mask[:steps, :steps] == 0, float("-inf"))
        mixed = torch.softmax(scores, dim=-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, steps, width))


def get_inputs():
    return [torch.rand(BATCH, STEPS, WIDTH)]


def get_init_inputs():
    return [WIDTH, HEADS, 2 * STEPS]
