"""The package that somebody else tuned."""

import torch


def run(x, w, y):
    torch.addcmul(torch.ones(1), x, w, out=y)
