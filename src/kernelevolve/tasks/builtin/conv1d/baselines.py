"""The same convolution in the form that libraries have tuned most."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def conv2d_channels_last(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """As a 2-D convolution of height 1, channels last inside. The result keeps that layout: what turning it back would
    cost is not charged."""
    images = x.unsqueeze(2).to(memory_format=torch.channels_last)
    kernels = weight.unsqueeze(2).to(memory_format=torch.channels_last)
    return F.conv2d(images, kernels, bias, padding=(0, 1)).squeeze(2)


ARMS = {"conv2d_channels_last": conv2d_channels_last}
