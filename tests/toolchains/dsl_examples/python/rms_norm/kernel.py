"""Root-mean-square normalisation with a weight, as host code: three operators of PyTorch, in float32."""

import torch


def rms_norm(x, weight, out, R, C):
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    out.copy_(wide * scale * weight)
